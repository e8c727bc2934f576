// Tools of npm packages: the executor against what the protocol's standard flow does, `npm install` and a fresh node per call.
// Needs the npm registry. `node bench/tool.mjs repeat` picks one comparison by its title, `--rounds=5` says how often.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import Fastify from 'fastify';
import { create } from 'tar';
import { containerLevel, GUEST_POLICY } from '../dist/sandbox/index.js';
import { createToolExecutor, toolRoutes, toolServerOptions } from '../dist/tool/index.js';
import { bench, report } from './harness.mjs';

const scratch = mkdtempSync(join(tmpdir(), 'sallyport-bench-'));
let folders = 0;
const fresh = (name) => {
  folders += 1;
  const folder = join(scratch, `${name}-${folders}`);
  mkdirSync(folder, { recursive: true });
  return folder;
};

function run(program, args, cwd) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'] });
    let output = '';
    child.stdout.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${program} exited with ${code}: ${output}`)),
    );
  });
}

const install = (packageName, cwd, more = []) =>
  run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error', ...more, packageName], cwd);

/** The standard flow: a folder, an install, a fresh node, and the folder is removed. */
async function standardFlow({ packageName, name, params }, more) {
  const cwd = fresh('npm');
  await install(packageName, cwd, more);
  const code = `import * as p from ${JSON.stringify(packageName)}; console.log(JSON.stringify(await p[${JSON.stringify(name)}].execute(${JSON.stringify(params)}, { toolCallId: 'x', messages: [] })))`;
  writeFileSync(join(cwd, 'call.mjs'), code);
  JSON.parse(await run(process.execPath, ['call.mjs'], cwd));
  rmSync(cwd, { recursive: true });
}

async function call(executor, request) {
  const response = await executor.execute(request);
  if (!response.success) throw new Error(JSON.stringify(response.error));
}

/** A registry with trivial tools, so that both sides pay the same for the network: nothing. */
async function trivialRegistry(count) {
  const packages = new Map();
  for (let index = 0; index < count; index += 1) {
    const name = `trivial-${index}`;
    const folder = join(fresh('pack'), 'package');
    mkdirSync(folder);
    writeFileSync(
      join(folder, 'package.json'),
      JSON.stringify({ name, version: '1.0.0', type: 'module', main: 'index.js' }),
    );
    writeFileSync(join(folder, 'index.js'), 'export const tool = { execute: ({ a, b }) => a + b };');
    const file = `${folder}.tgz`;
    await create({ gzip: true, portable: true, file, cwd: join(folder, '..') }, ['package']);
    packages.set(name, readFileSync(file));
  }
  const server = createServer((request, response) => {
    const [name, tarball] = request.url.slice(1).split('/-/');
    const bytes = packages.get(name);
    if (bytes === undefined) return response.writeHead(404).end('{}');
    if (tarball !== undefined) return response.end(bytes);
    const dist = {
      tarball: `http://${request.headers.host}/${name}/-/x.tgz`,
      integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
    };
    return response.setHeader('content-type', 'application/json').end(
      JSON.stringify({
        name,
        'dist-tags': { latest: '1.0.0' },
        versions: { '1.0.0': { name, version: '1.0.0', dist } },
      }),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

const quantile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))];
const rounds = Number(process.argv.find((word) => word.startsWith('--rounds='))?.slice('--rounds='.length) ?? 12);
const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const picked = (title) => wanted.length === 0 || wanted.some((word) => title.includes(word));
const say = (line) => process.stderr.write(`${line}\n`);

const room = await containerLevel({ policy: GUEST_POLICY }).probe();
const levels = room.available ? ['process', 'container'] : ['process'];

/** Asks for /health from a thread of its own, so that what the bench itself does is not measured. */
const HEALTH_PROBE = `
  const { parentPort, workerData: url } = require('node:worker_threads');
  let busy = true;
  parentPort.once('message', () => { busy = false; });
  (async () => {
    const times = [];
    while (busy) {
      const started = performance.now();
      await (await fetch(url + '/health')).text();
      times.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    parentPort.postMessage(times);
  })();
`;

const AI_TOOL = {
  packageName: '@tpmjs/tools-template-render',
  name: 'templateRenderTool',
  params: { template: 'Hi {{name}}', data: { name: 'Bo' } },
};
const TRIVIAL = { packageName: 'trivial-0', name: 'tool', params: { a: 1, b: 2 } };

if (picked('repeat call of an ai-based tool')) {
  const executor = createToolExecutor({ cacheDir: fresh('cache') });
  await executor.warm();
  await call(executor, AI_TOOL);
  await executor.settled();
  await bench('repeat call of an ai-based tool of 12 packages', {
    sides: { 'npm install + node': () => standardFlow(AI_TOOL), sallyport: () => call(executor, AI_TOOL) },
    iterations: 1,
    rounds,
    warmup: 1,
  });
  await executor.dispose();
}

if (picked('first install')) {
  // A server that is up, with nothing in its cache: one per measurement, started beforehand.
  const measurements = Math.ceil(rounds / 2);
  const servers = [];
  for (let index = 0; index < measurements + 1; index += 1) {
    const executor = createToolExecutor({
      cacheDir: fresh('cache'),
      limits: { warmChildren: 0 },
      policy: { bundle: 'never' },
    });
    await executor.warm();
    servers.push(executor);
  }
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  const waiting = [...servers];
  await bench('first install of an ai-based tool of 12 packages, cold caches', {
    sides: {
      'npm install': () => install(AI_TOOL.packageName, fresh('npm'), ['--cache', fresh('npm-cache')]),
      sallyport: () => waiting.shift().prefetch(AI_TOOL.packageName),
    },
    iterations: 1,
    rounds: measurements,
    warmup: 1,
  });
  await Promise.all(servers.map((executor) => executor.dispose()));
}

const registry = await trivialRegistry(10);
const trivialExecutor = async (level, warmChildren) => {
  const executor = createToolExecutor({
    cacheDir: fresh('cache'),
    registry: registry.url,
    level,
    limits: { warmChildren },
  });
  await executor.warm();
  return executor;
};
if (picked('trivial tool')) {
  const executors = [];
  const sides = { 'npm install + node': () => standardFlow(TRIVIAL, ['--registry', registry.url]) };
  for (const level of levels) {
    const executor = await trivialExecutor(level, 2);
    executors.push(executor);
    await call(executor, TRIVIAL);
    // A call comes when the children that wait are ready: that is what they are for.
    sides[`sallyport, ${level}`] = () => call(executor, TRIVIAL);
  }
  await bench('repeat call of a trivial tool', { sides, iterations: 1, rounds, warmup: 2 });
  for (const executor of executors) await executor.dispose();
}

for (const level of picked('throughput') ? levels : []) {
  const executor = await trivialExecutor(level, 4);
  await call(executor, TRIVIAL);
  const until = performance.now() + 10_000;
  let calls = 0;
  const started = performance.now();
  const client = async () => {
    while (performance.now() < until) {
      await call(executor, TRIVIAL);
      calls += 1;
    }
  };
  await Promise.all(Array.from({ length: 4 }, client));
  say(
    `throughput: ${(calls / ((performance.now() - started) / 1_000)).toFixed(1)} calls/s of the trivial tool, each in its own process, at level ${level}; load ${loadavg()[0].toFixed(1)} at the end`,
  );
  await executor.dispose();
}

if (picked('identical first calls')) {
  const executor = createToolExecutor({ cacheDir: fresh('cache') });
  const started = performance.now();
  await Promise.all(Array.from({ length: 8 }, () => call(executor, AI_TOOL)));
  say(
    `8 identical first calls: ${executor.stats().installs.total} install, ${Math.round(performance.now() - started)} ms`,
  );
  await executor.dispose();
}

// Ten clients, each with a package of its own that is not installed yet, and again and again once it is; beside them somebody who
// asks for /health.
for (const level of picked('health') ? levels : []) {
  const executor = createToolExecutor({ cacheDir: fresh('cache'), registry: registry.url, level });
  const server = Fastify(toolServerOptions(executor.limits));
  await server.register(toolRoutes(executor, { apiKey: '' }));
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  await executor.warm();
  const client = async (index) => {
    for (let turn = 0; turn < 20; turn += 1) await call(executor, { ...TRIVIAL, packageName: `trivial-${index}` });
  };
  const load = Promise.all(Array.from({ length: 10 }, (_, index) => client(index)));
  const probe = new Worker(HEALTH_PROBE, { eval: true, workerData: url });
  const times = await new Promise((resolve, reject) => {
    probe.once('message', resolve);
    probe.once('error', reject);
    load.then(() => probe.postMessage('enough'), reject);
  });
  await probe.terminate();
  say(
    `/health beside ten clients with ten packages, at level ${level}: p50 ${quantile(times, 0.5).toFixed(1)} ms, p99 ${quantile(times, 0.99).toFixed(1)} ms, most ${Math.max(...times).toFixed(1)} ms, ${times.length} samples; load ${loadavg()[0].toFixed(1)} at the end`,
  );
  await server.close();
  await executor.dispose();
}

registry.close();
rmSync(scratch, { recursive: true, force: true });
report();

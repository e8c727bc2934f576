// All four boundaries at once against the built `sallyport serve`, from the outside: what fails, how long /health takes meanwhile,
// what memory does, whether the audit trail accounts for every execution, and whether anything is left at the end.
//
//     node bench/load.mjs [--seconds 20] [--faults] [--json]
//
// --faults kills children at random and cuts connections: then only the executions concerned may fail, each with a code.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { ExecClient } from '../dist/process/index.js';
import { machine } from './harness.mjs';

const argument = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
};
const seconds = argument('--seconds', 20);
const faults = process.argv.includes('--faults');
const root = fileURLToPath(new URL('..', import.meta.url));
const cache = mkdtempSync(join(tmpdir(), 'sallyport-load-'));

/** A registry with one package, so that the load does not depend on the network. */
async function registry() {
  const file = (path, text) => {
    const block = Buffer.alloc(512);
    const fields = [
      [path, 0],
      ['0000644\0', 100],
      ['0000000\0', 108],
      ['0000000\0', 116],
    ];
    for (const [value, at] of fields) block.write(value, at);
    block.write(`${Buffer.byteLength(text).toString(8).padStart(11, '0')}\0`, 124);
    block.write('00000000000\0', 136);
    block.write('        0', 148);
    block.write('ustar\x0000', 257);
    block.write(
      `${block
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    const content = Buffer.alloc(Math.ceil(Buffer.byteLength(text) / 512) * 512);
    content.write(text);
    return Buffer.concat([block, content]);
  };
  const manifest = { name: 'load-tool', version: '1.0.0', type: 'module', exports: './index.js' };
  const code = `export const double = { description: 'doubles', inputSchema: { type: 'object' }, execute: async ({ n }) => ({ n: n * 2 }) };\n`;
  const tarball = gzipSync(
    Buffer.concat([
      file('package/package.json', JSON.stringify(manifest)),
      file('package/index.js', code),
      Buffer.alloc(1024),
    ]),
  );
  const server = createServer((request, response) => {
    if (request.url?.endsWith('.tgz')) return response.end(tarball);
    const base = `http://127.0.0.1:${server.address().port}`;
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const version = { ...manifest, dist: { tarball: `${base}/load-tool.tgz`, integrity } };
    response.setHeader('content-type', 'application/json');
    return response.end(
      JSON.stringify({ name: 'load-tool', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': version } }),
    );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function processTable() {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z') parents.set(Number(name), Number(parent));
    } catch {
      // Gone meanwhile.
    }
  }
  return parents;
}

function descendants(of) {
  const parents = processTable();
  const found = [of];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found.slice(1);
}

function rssMiB(pid) {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;
}

const packages = await registry();
const started = performance.now();
const server = spawn(
  process.execPath,
  [
    join(root, 'dist/cli/main.js'),
    'serve',
    '--port',
    '0',
    '--cache-dir',
    cache,
    '--wasm',
    join(root, 'examples/wasm/c'),
    '--registry',
    `http://127.0.0.1:${packages.address().port}`,
  ],
  { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH ?? '', HOME: cache } },
);
let log = '';
const url = await new Promise((resolve) => {
  server.stdout.setEncoding('utf8').on('data', (text) => {
    log = (log + text).slice(-100_000);
    const found = /"url":"([^"]+)"/.exec(log)?.[1];
    if (found !== undefined) resolve(found);
  });
});
await (await fetch(`${url}/health`)).text();
const firstAnswerMs = performance.now() - started;

const asked = { guest: 0, wasm: 0, tool: 0, process: 0 };
const failures = new Map();
const latencies = { guest: [], wasm: [], tool: [], process: [], health: [] };
const fail = (kind, reason) => failures.set(`${kind}: ${reason}`, (failures.get(`${kind}: ${reason}`) ?? 0) + 1);
let stopping = false;

async function post(path, body) {
  const response = await fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return response.json();
}

const boundaries = {
  async guest() {
    const { ok, result, error } = await post('/run', {
      code: 'let n = 0; for (let i = 0; i < 1e4; i++) n += i; return n',
    });
    if (!ok || result !== 49_995_000) fail('guest', error?.code ?? 'wrong result');
  },
  async wasm() {
    const { ok, result, error } = await post('/wasm/guest/add', [20, 22]);
    if (!ok || result !== 42) fail('wasm', error?.code ?? 'wrong result');
  },
  async tool() {
    const { success, error } = await post('/execute-tool', {
      packageName: 'load-tool',
      name: 'double',
      params: { n: 21 },
    });
    if (!success) fail('tool', `${error?.code}: ${error?.message}`);
  },
  async process() {
    connection ??= await ExecClient.connectWebSocket(`${url.replace('http', 'ws')}/exec`);
    const child = await connection.start({ argv: ['/bin/echo', 'hello'], cwd: '/' });
    const { exitCode } = await child.wait();
    if (exitCode !== 0) fail('process', `exit ${exitCode}`);
  },
};
let connection;

async function worker(kind) {
  while (!stopping) {
    const from = performance.now();
    asked[kind] += 1;
    try {
      await boundaries[kind]();
    } catch (error) {
      fail(kind, error.message);
      if (kind === 'process') connection = undefined;
    }
    latencies[kind].push(performance.now() - from);
  }
}

async function health() {
  while (!stopping) {
    const from = performance.now();
    await (await fetch(`${url}/health`)).text();
    latencies.health.push(performance.now() - from);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function havoc() {
  while (!stopping) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    const pids = descendants(server.pid);
    const victim = pids[Math.floor(Math.random() * pids.length)];
    // The guardian is the one process whose death the server only has to make up for.
    if (victim !== undefined) process.kill(victim, 'SIGKILL');
    await fetch(`${url}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ code: 'await new Promise(() => {})', timeoutMs: 60_000 }),
      signal: AbortSignal.timeout(50),
    }).catch(() => {});
    asked.guest += 1;
  }
}

const rss = [];
const sampler = setInterval(() => rss.push(rssMiB(server.pid)), 1_000);
await new Promise((resolve) => setTimeout(resolve, 2_000));
const idleMiB = rssMiB(server.pid);
const loops = [...Object.keys(boundaries).map(worker), health(), ...(faults ? [havoc()] : [])];
await new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
stopping = true;
await Promise.all(loops);
clearInterval(sampler);
await new Promise((resolve) => setTimeout(resolve, 500));

const metrics = await (await fetch(`${url}/metrics`)).text();
const counted = {};
for (const [, kind, , count] of metrics.matchAll(/sallyport_executions_total\{kind="(\w+)",outcome="(\w+)"\} (\d+)/g)) {
  counted[kind] = (counted[kind] ?? 0) + Number(count);
}
await connection?.close();
const children = descendants(server.pid);
const exited = once(server, 'exit');
server.kill('SIGTERM');
const [code] = await exited;
const table = processTable();
const left = children.filter((pid) => table.has(pid));
packages.close();
rmSync(cache, { recursive: true, force: true });

const percentile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1));
};
const result = {
  machine: machine(),
  seconds,
  faults,
  firstAnswerMs: Math.round(firstAnswerMs),
  rssMiB: {
    idle: Math.round(idleMiB),
    middle: Math.round(rss[Math.floor(rss.length / 2)] ?? 0),
    end: Math.round(rss.at(-1) ?? 0),
  },
  latencyMs: Object.fromEntries(
    Object.entries(latencies).map(([kind, all]) => [
      kind,
      { count: all.length, p50: percentile(all, 0.5), p99: percentile(all, 0.99) },
    ]),
  ),
  asked,
  counted,
  failures: Object.fromEntries(failures),
  exitCode: code,
  processesLeft: left.length,
};
console.log(JSON.stringify(result, undefined, 2));
const accounted = Object.keys(asked).every((kind) => counted[kind] === asked[kind] || faults);
process.exitCode = (failures.size === 0 || faults) && accounted && left.length === 0 && code === 0 ? 0 : 1;

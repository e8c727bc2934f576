// The server: from the command to the first answered request, next to the least that Node and its HTTP framework need for that, and
// what it holds when it idles with its pools filled.
import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bench, report } from './harness.mjs';

const COMMAND = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
const FASTIFY = `import Fastify from 'fastify';
const server = Fastify();
server.get('/health', () => ({ status: 'ok' }));
console.log(JSON.stringify({ url: await server.listen({ port: 0, host: '127.0.0.1' }) }));`;

const folder = mkdtempSync(join(tmpdir(), 'sallyport-bench-'));

/** Starts a server and resolves with its process and address when it has answered once. */
async function answered(args) {
  const child = spawn(process.execPath, args, {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { PATH: process.env.PATH, HOME: folder },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const url = await new Promise((resolve) => {
    let text = '';
    child.stdout.on('data', (chunk) => {
      text += chunk;
      const found = /"url":"([^"]+)"/.exec(text);
      if (found) resolve(found[1]);
    });
  });
  await (await fetch(`${url}/health`)).text();
  return { child, url };
}

async function ended({ child }) {
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL');
  await gone;
}

const serve = (isolation) => ['serve', '--port', '0', '--cache-dir', join(folder, isolation), '--isolation', isolation];

await bench('start to the first answered request', {
  sides: {
    'fastify alone': async () => ended(await answered(['--input-type=module', '-e', FASTIFY])),
    'serve --isolation process': async () => ended(await answered([COMMAND, ...serve('process')])),
    'serve --isolation auto': async () => ended(await answered([COMMAND, ...serve('auto')])),
  },
  iterations: 1,
  rounds: 12,
});

/** Memory of a process, shared pages counted in full, in MB. */
const rss = (pid) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** Memory of a process and all below it, shared pages split among those that share them, in MB. */
function family(pid) {
  const parents = readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      return [[Number(name), Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])]];
    } catch {
      return [];
    }
  });
  const members = [pid];
  for (const member of members) members.push(...parents.filter(([, parent]) => parent === member).map(([own]) => own));
  const sizes = members.map((member) => {
    try {
      return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${member}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024;
    } catch {
      return 0;
    }
  });
  return { processes: members.length, megabytes: sizes.reduce((sum, size) => sum + size, 0) };
}

const idle = await answered([COMMAND, ...serve('auto')]);
await delay(5_000);
const server = rss(idle.child.pid);
const { processes, megabytes } = family(idle.child.pid);
await ended(idle);
rmSync(folder, { recursive: true, force: true });
report();
console.error(
  `\nidle with pools filled: the server has ${server.toFixed(0)} MB RSS; with its ${processes - 1} children ${megabytes.toFixed(0)} MB`,
);

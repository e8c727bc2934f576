// All four boundaries at once against the built `sallyport serve`, from the outside: what fails, how long /health takes meanwhile,
// what memory does, whether the audit trail accounts for every execution, and whether anything is left at the end. What happens when
// things break meanwhile is for `npm run soak`.
//
//     node bench/load.mjs [--seconds 20]
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Commands, LOAD_TOOL, runGuest, runTool, runWasm } from '../scripts/lib/boundaries.mjs';
import { descendants, processTable, rssMiB } from '../scripts/lib/process-table.mjs';
import { startRegistry } from '../scripts/lib/registry.mjs';
import { ROOT, startServer, stopCommand } from '../scripts/lib/serve.mjs';
import { machine } from './harness.mjs';

const argument = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  return at === -1 ? otherwise : Number(process.argv[at + 1]);
};
const seconds = argument('--seconds', 20);
const cache = mkdtempSync(join(tmpdir(), 'sallyport-load-'));
const registry = await startRegistry([LOAD_TOOL]);
const started = performance.now();
const server = await startServer(
  ['--cache-dir', cache, '--wasm', join(ROOT, 'examples/wasm/c'), '--registry', registry.url],
  { env: { HOME: cache } },
);
const { url, socketUrl } = server;
const { pid } = server.child;
await (await fetch(`${url}/health`)).text();
const firstAnswerMs = performance.now() - started;

const commands = new Commands();
const boundaries = {
  guest: () => runGuest(url),
  wasm: () => runWasm(url),
  tool: () => runTool(url),
  process: () => commands.run(socketUrl),
};
const asked = { guest: 0, wasm: 0, tool: 0, process: 0 };
const latencies = { guest: [], wasm: [], tool: [], process: [], health: [] };
const failures = new Map();
let stopping = false;

async function worker(kind) {
  while (!stopping) {
    const from = performance.now();
    asked[kind] += 1;
    try {
      await boundaries[kind]();
    } catch (error) {
      const name = `${kind}: ${error.message}`;
      failures.set(name, (failures.get(name) ?? 0) + 1);
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

const rss = [];
const sampler = setInterval(() => rss.push(rssMiB(pid)), 1_000);
await new Promise((resolve) => setTimeout(resolve, 2_000));
const idleMiB = rssMiB(pid);
const loops = [...Object.keys(boundaries).map(worker), health()];
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
await commands.close();
const children = descendants(pid);
const { code } = await stopCommand(server);
// The guardian ends last, a moment after the server.
await new Promise((resolve) => setTimeout(resolve, 2_000));
const table = processTable();
const left = children.filter((child) => table.has(child));
await registry.close();
rmSync(cache, { recursive: true, force: true });

const percentile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return Number((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1));
};
const result = {
  machine: machine(),
  seconds,
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
const accounted = Object.keys(asked).every((kind) => counted[kind] === asked[kind]);
process.exitCode = failures.size === 0 && accounted && left.length === 0 && code === 0 ? 0 : 1;

// Servers of the built command, watched while they are fuzzed.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants, leftAfter, rssMiB } from '../lib/process-table.mjs';
import { ROOT, startServer, stopCommand } from '../lib/serve.mjs';
import { HANG_MS, hold, MAX_TARGET_GROWTH_MIB } from './oracles.mjs';

/** How long the end of a server may take to reach all of its processes. */
const GUARDIAN_MS = 10_000;
/** Lines of a crash. What a server says about its clients is its own business. */
const CRASH = /^\s+at \S|^\w*Error\b|^node:internal|^Node\.js v|[Uu]nhandled|[Uu]ncaught/m;

/** Watches a server that was started: `verify` throws when it is gone or has crashed, `end` ends it and checks that nothing is left. */
export function watchServer(server) {
  const { child, said } = server;
  const before = rssMiB(child.pid);
  let peak = before;
  return {
    verify() {
      const { exited, stderr } = said;
      hold(exited === undefined, `the server ended (${JSON.stringify(exited)}): ${stderr.slice(-1_000)}`);
      hold(!CRASH.test(stderr), `the server said: ${stderr.slice(-1_000)}`);
    },
    checkMemory() {
      peak = Math.max(peak, rssMiB(child.pid));
      hold(peak - before < MAX_TARGET_GROWTH_MIB, `the server grew from ${before} to ${peak} MiB`);
    },
    async end() {
      const children = descendants(child.pid);
      const { code } = await stopCommand(server, 40_000);
      const left = await leftAfter(children, GUARDIAN_MS);
      hold(code === 0, `the server ended with ${code} after SIGTERM`);
      hold(left.length === 0, `${left.length} processes are left`);
      return `the server took ${Math.round(before)} MiB at first and ${Math.round(peak)} MiB at most; nothing was left`;
    },
  };
}

/** Starts `sallyport serve` with a configuration, to be fuzzed. `close` ends it. */
export async function serverUnderTest(configuration = {}) {
  const cache = mkdtempSync(join(tmpdir(), 'sallyport-fuzz-'));
  const file = join(cache, 'config.json');
  writeFileSync(file, JSON.stringify({ ...configuration, cacheDir: cache, wasm: join(ROOT, 'examples/wasm/c') }));
  const server = await startServer(['--config', file], { env: { HOME: cache } });
  const { child } = server;
  const watched = watchServer(server);
  const close = async () => {
    try {
      const busy = await underWay(server.url);
      const summary = await watched.end();
      hold(busy.length === 0, `every client is gone, and still under way: ${JSON.stringify(busy).slice(0, 1_000)}`);
      return summary;
    } finally {
      // A server that cannot even be asked is ended all the same.
      child.kill('SIGKILL');
      rmSync(cache, { recursive: true, force: true });
    }
  };
  return { ...server, ...watched, close };
}

/** What is still under way when nobody waits for anything any more. */
async function underWay(url) {
  const deadline = performance.now() + HANG_MS;
  for (;;) {
    const { executions } = await (await fetch(`${url}/executions?status=running`)).json();
    if (executions.length === 0 || performance.now() > deadline) return executions;
    await delay(100);
  }
}

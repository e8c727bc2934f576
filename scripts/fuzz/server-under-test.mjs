// The built `sallyport serve`, watched while it is fuzzed.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants, processTable, rssMiB } from '../lib/process-table.mjs';
import { ROOT, startServer, stopCommand } from '../lib/serve.mjs';
import { HANG_MS, hold, MAX_TARGET_GROWTH_MIB } from './oracles.mjs';

/** Starts it. `verify` throws when it is gone or complained; `close` ends it and checks that nothing is left. */
export async function serverUnderTest(args = []) {
  const cache = mkdtempSync(join(tmpdir(), 'sallyport-fuzz-'));
  const server = await startServer(['--cache-dir', cache, '--wasm', join(ROOT, 'examples/wasm/c'), ...args], {
    env: { HOME: cache },
  });
  const { pid } = server.child;
  const before = rssMiB(pid);
  let peak = before;
  const verify = () => {
    const { exited, stderr } = server.said;
    hold(exited === undefined, `the server ended (${JSON.stringify(exited)}): ${stderr.slice(-1_000)}`);
    hold(stderr === '', `the server said: ${stderr.slice(-1_000)}`);
  };
  const checkMemory = () => {
    peak = Math.max(peak, rssMiB(pid));
    hold(peak - before < MAX_TARGET_GROWTH_MIB, `the server grew from ${before} to ${peak} MiB`);
  };
  const close = async () => {
    const busy = await underWay(server.url);
    hold(busy.length === 0, `every client is gone, and still under way: ${JSON.stringify(busy).slice(0, 1_000)}`);
    const children = descendants(pid);
    const { code } = await stopCommand(server, 40_000);
    const table = processTable();
    const left = children.filter((child) => table.has(child));
    rmSync(cache, { recursive: true, force: true });
    hold(code === 0, `the server ended with ${code} after SIGTERM`);
    hold(left.length === 0, `${left.length} processes are left`);
    return `the server took ${Math.round(before)} MiB at first and ${Math.round(peak)} MiB at most; nothing was left`;
  };
  return { ...server, verify, checkMemory, close };
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

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { createExecutor, type Executor } from '../../../dist/guest/index.js';
import { here } from '../../sandbox/container/rooms.js';
import { alive, gone, numbers } from '../../sandbox/helpers.js';
import { TOOLS } from '../programs.js';

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const run = promisify(execFile);
const count = (folder: string): number => readdirSync(folder).length;
const threads = (): number => count('/proc/self/task');
const handles = (): number => count('/proc/self/fd');

/** Work of every kind: good, failing, timed out, out of memory, killed, aborted. */
async function churn(executor: Executor, rounds: number): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    const abort = new AbortController();
    await Promise.all([
      executor.execute('await tools.echo(1)', TOOLS),
      executor.execute('throw new Error("x")', TOOLS),
      executor.execute('setInterval(() => {}, 1); tools.never(); 1', TOOLS),
      executor.execute('await tools.never()', TOOLS, { timeoutMs: 20 }),
      executor.execute('new Uint8Array(2e7).length', TOOLS),
      executor.execute('const a = []; for (;;) a.push({})', TOOLS, { memoryLimitBytes: 1e6 }),
      executor.execute('await tools.never()', TOOLS, {
        signal: abort.signal,
        onEvent: (event) => event.type === 'tool_call' && abort.abort(),
      }),
    ]);
  }
  await executor.execute('new Array(3e8).join()', TOOLS, { timeoutMs: 20 });
}

const CONFINED = here.available ? (['container'] as const) : [];

describe('nothing is left behind', () => {
  for (const isolation of ['thread', 'process', ...CONFINED] as const) {
    it(`after many runs and a kill with isolation ${isolation}`, async () => {
      // A few threads and files of the process itself come with the first use and stay.
      const first = createExecutor({ isolation, size: 1 });
      await first.prewarm();
      await first.dispose();
      const before = { threads: threads(), handles: handles() };
      const executor = createExecutor({ isolation, size: 2 });
      await churn(executor, 2);
      await executor.prewarm();
      const warm = { threads: threads(), handles: handles() };
      await churn(executor, 25);
      await executor.prewarm();
      await expect.poll(threads).toBeLessThanOrEqual(warm.threads + 2);
      await expect.poll(handles).toBeLessThanOrEqual(warm.handles + 4);
      expect(executor.stats()).toMatchObject({ shells: 2, busy: 0, queued: 0 });
      await executor.dispose();
      expect(executor.stats().shells).toBe(0);
      await expect.poll(threads).toBeLessThanOrEqual(before.threads + 2);
      await expect.poll(handles).toBeLessThanOrEqual(before.handles + 4);
    });
  }

  it('of a host that is killed', async () => {
    const host = spawn(process.execPath, [fixture('host.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(host.stdout.setEncoding('utf8'), 'data');
    const pids = numbers(String(line));
    expect(pids.length).toBeGreaterThanOrEqual(2);
    expect(pids.every(alive)).toBe(true);
    host.kill('SIGKILL');
    await once(host, 'close');
    expect(await gone(pids)).toBe(true);
  });

  for (const isolation of ['thread', 'process', 'inline', ...CONFINED]) {
    it(`that keeps a host alive which has nothing more to do, with isolation ${isolation}`, async () => {
      const { stdout } = await run(process.execPath, [fixture('idle-host.mjs'), isolation], { timeout: 60_000 });
      expect(stdout).toBe('2\n');
    });
  }
});

describe('a guest process', () => {
  it('has no environment, no folder of ours and no handles but its own', async () => {
    const { stdout } = await run(process.execPath, [fixture('inspect-child.mjs')]);
    const found = JSON.parse(stdout) as { env: string; handles: [number, string][]; cwd: string }[];
    expect(found.length).toBeGreaterThan(0);
    for (const { env, handles: open, cwd } of found) {
      expect(env).not.toContain('SECRET_TOKEN');
      expect(env).not.toContain('PATH=');
      expect(cwd).toBe('/');
      const files = open.filter(([, target]) => target.startsWith('/') && !target.startsWith('/dev/'));
      expect(files).toEqual([]);
    }
  });
});

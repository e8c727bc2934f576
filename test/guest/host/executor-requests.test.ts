import { describe, expect, it } from 'vitest';
import { defineTools } from '../../../src/capabilities/index.js';
import { createExecutor } from '../../../src/guest/host/executor.js';
import { createRemoteExecutor } from '../../../src/guest/host/remote-executor.js';
import type { Transport } from '../../../src/wire/index.js';

describe('an executor takes what it is asked for at its word', () => {
  it('refuses an isolation that it does not know when it is made', () => {
    expect(() => createExecutor({ isolation: 'vault' as never })).toThrow(
      'isolation must be inline, thread, process or container, not vault',
    );
  });

  it('runs a program beyond the default size where the limit was raised', async () => {
    const executor = createExecutor({ isolation: 'inline', size: 1, maxCodeBytes: 4 * 1024 * 1024 });
    const program = `/* ${'x'.repeat(2 * 1024 * 1024)} */ 7`;
    expect(await executor.execute(program)).toMatchObject({ ok: true, result: 7 });
    await executor.dispose();
  });

  it('lets queued executions finish however often it is asked to drain', async () => {
    const executor = createExecutor({ isolation: 'inline', size: 1 });
    const slow = defineTools('slow', { wait: () => new Promise((done) => setTimeout(done, 30, 'done')) });
    const runs = Promise.all([1, 2, 3].map(() => executor.execute('await slow.wait()', slow)));
    await Promise.all([executor.dispose(), executor.dispose()]);
    expect((await runs).map((run) => run.ok)).toEqual([true, true, true]);
  });

  it('ends what a drain waits for when an abort comes on top', async () => {
    const executor = createExecutor({ isolation: 'inline', size: 1 });
    const stuck = defineTools('stuck', { wait: () => new Promise(() => {}) });
    const run = executor.execute('await stuck.wait()', stuck, { timeoutMs: 60_000 });
    const drained = executor.dispose();
    await executor.dispose({ mode: 'abort' });
    await drained;
    expect(await run).toMatchObject({ ok: false });
  });

  it('gives up on a connection that never comes, and closes one that comes too late', async () => {
    let arrive: (transport: Transport<unknown, unknown>) => void = () => {};
    let terminated = 0;
    const executor = createRemoteExecutor({
      connectTimeoutMs: 20,
      connect: () =>
        new Promise((resolve) => {
          arrive = resolve;
        }),
    });
    const result = await executor.execute('1');
    expect(result).toMatchObject({ ok: false, error: { code: 'internal_error' } });
    const late: Transport<unknown, unknown> = {
      send: () => {},
      onMessage: () => () => {},
      onClose: () => () => {},
      close: () => {},
      terminate: () => {
        terminated += 1;
      },
    };
    arrive(late);
    await new Promise((next) => setImmediate(next));
    expect(terminated).toBe(1);
    await executor.dispose();
  });
});

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import { createSink } from '../../src/wasm/index.js';
import { collect, MISBEHAVE, open } from './guests.js';

const run = promisify(execFile);

describe('a guest that mutates valid sessions', () => {
  it('never gets anything but registered errors out of a session', async () => {
    const script = ['scripts/fuzz.mjs', '--target', 'duplex', '--frames', '20000'];
    const { stdout } = await run(process.execPath, script, { timeout: 150_000 });
    expect(stdout).toMatch(/^2\d{4} frames in \d+ cases/);
  });

  it('never crashes its host, leaves nothing pending, and is replaced', async () => {
    const strays: unknown[] = [];
    const onStray = (reason: unknown): unknown => strays.push(reason);
    process.on('unhandledRejection', onStray);
    const { client, events } = await open(MISBEHAVE, {
      warm: 2,
      timeoutMs: 2_000,
      limits: { frameTimeoutMs: 300, streamIdleMs: 1_000 },
      grant: { double: (value) => [value, value] },
    });
    const { add, echo, callHost, produce, mutate } = client.call;
    for (let round = 0; round < 12; round += 1) {
      expect(await add?.([round, 1])).toBe(round + 1);
      await mutate?.({ seed: round * 7919 + 1, oneIn: 40 + round * 20 });
      const streams = Array.from({ length: 3 }, () => createSink());
      const jobs = [
        ...Array.from({ length: 10 }, (_, index) => echo?.({ index, text: 'a valid message' })),
        ...Array.from({ length: 5 }, (_, index) => callHost?.({ name: 'double', params: index })),
        ...Array.from({ length: 5 }, (_, index) => callHost?.({ name: (value: unknown) => value, params: index })),
        ...streams.map((stream) => produce?.({ stream, count: 20, size: 8 })),
        ...streams.map((stream) => collect(stream)),
      ];
      const outcomes = await Promise.allSettled(jobs);
      for (const outcome of outcomes) {
        if (outcome.status === 'rejected') expect(isSallyportError(outcome.reason)).toBe(true);
      }
      // A guest that happened to stay within the rules still mutates: it is ended so that the next round starts afresh.
      await client.call['misbehave']?.('exit', { timeoutMs: 500 }).catch(() => {});
      await expect.poll(() => events.filter(({ type }) => type === 'ended').length).toBeGreaterThan(round);
    }
    process.off('unhandledRejection', onStray);
    expect(strays).toEqual([]);
  });
});

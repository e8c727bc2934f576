import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { createSink } from '../../../src/wasm/index.js';
import { C_GUEST, failure, MISBEHAVE, open } from '../guests.js';
import { GROW_MEMORY, GROW_TABLE, start } from '../wasm-bytes.js';

const MIB = 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage: unknown = runInNewContext('gc');

/** What this process holds once garbage has been collected: buffers and heap. */
function held(): number {
  Reflect.apply(Object(collectGarbage), undefined, []);
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe('memory', () => {
  it('a guest that allocates without end is stopped at its limit', async () => {
    const { client } = await open(MISBEHAVE, { limits: { memoryBytes: 32 * MIB } });
    const got = Number(await client.call['allocate']?.());
    expect(got).toBeGreaterThan(16);
    expect(got).toBeLessThanOrEqual(32);
    expect(await client.call['add']?.([1, 2])).toBe(3);
  });

  it.each([
    ['memory', start({ code: GROW_MEMORY })],
    ['table', start({ table: 1, code: GROW_TABLE })],
  ])('a guest that grows its %s for ever stays within the limits until its time is up', async (_what, bytes) => {
    const { client } = await open(bytes, { limits: { memoryBytes: 16 * MIB, tableElements: 100_000 } });
    const call = failure(client.call['add']?.([1, 1], { timeoutMs: 1_000 }) ?? Promise.resolve());
    await expect.poll(() => client.pids.length).toBe(1);
    await pause(700);
    const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${client.pids[0]}/status`, 'latin1'))?.[1];
    expect(Number(resident) * 1024).toBeLessThan(160 * MIB);
    expect(await call).toMatchObject({ code: 'WASM_TIMEOUT' });
  });

  it.each([
    ['one kilobyte', 1024],
    ['a byte', 1],
    ['a megabyte', MIB],
  ])('a flood of chunks of %s against a slow consumer keeps the host within 32 MiB', async (_name, size) => {
    const { client } = await open(MISBEHAVE, { timeoutMs: 60_000, limits: { stallMs: 60_000 } });
    await client.call['add']?.([1, 1]);
    const before = held();
    const stream = createSink();
    const flood = client.call['flood']?.({ stream, size });
    flood?.catch(() => {});
    const iterator = stream[Symbol.asyncIterator]();
    let most = 0;
    for (let turn = 0; turn < 30; turn += 1) {
      await iterator.next();
      await pause(20);
      most = Math.max(most, held() - before);
    }
    expect(most).toBeLessThan(32 * MIB);
    await client.dispose();
  });

  it('a stream that nobody reads stops the pipe, and ends the guest when it keeps others waiting', async () => {
    const { client } = await open(MISBEHAVE, { limits: { stallMs: 300 } });
    const stream = createSink();
    const before = held();
    const error = await failure(client.call['flood']?.({ stream, size: 1024 }) ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'WASM_STREAM_STALLED', facts: { stream: 'r0', waiting: 'flood' } });
    expect(held() - before).toBeLessThan(32 * MIB);
    expect(await client.call['add']?.([1, 2])).toBe(3);
  });

  it('a guest that never reads does not grow the write buffer past its limit', async () => {
    const { client } = await open(MISBEHAVE, { limits: { backlogBytes: 2 * MIB }, timeoutMs: 60_000 });
    await client.call['add']?.([1, 1]);
    const deaf = failure(client.call['misbehave']?.('deaf', { timeoutMs: 3_000 }) ?? Promise.resolve());
    await pause(100);
    const before = held();
    const calls = Array.from({ length: 200 }, () =>
      failure(client.call['echo']?.(new Uint8Array(100_000)) ?? Promise.resolve()),
    );
    const refused = await Promise.race(calls);
    expect(refused).toMatchObject({ code: 'WASM_BACKLOG' });
    expect(held() - before).toBeLessThan(32 * MIB);
    expect(await deaf).toMatchObject({ code: 'WASM_TIMEOUT', facts: { function: 'misbehave' } });
    const all = await Promise.all(calls);
    expect(new Set(all.map((error) => Object(error).code))).toEqual(new Set(['WASM_BACKLOG', 'WASM_TIMEOUT']));
    expect(await client.call['add']?.([1, 2])).toBe(3);
  });

  it('a stream to a guest that never reads waits, and ends the guest when it waits for too long', async () => {
    const { client } = await open(MISBEHAVE, { limits: { streamIdleMs: 400 }, timeoutMs: 60_000 });
    let sent = 0;
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) {
        sent += 1;
        yield new Uint8Array(64 * 1024);
      }
    }
    await client.call['add']?.([1, 1]);
    const deaf = failure(client.call['misbehave']?.('deaf') ?? Promise.resolve());
    const streaming = failure(client.call['echo']?.({ stream: endless() }) ?? Promise.resolve());
    expect(await streaming).toMatchObject({ code: 'WASM_STREAM_IDLE' });
    expect(await deaf).toMatchObject({ code: 'WASM_STREAM_IDLE' });
    expect(sent).toBeLessThan(64);
  });

  it('a guest that calls without reading the answers is ended at the limit', async () => {
    const { client } = await open(MISBEHAVE, {
      grant: { big: () => new Uint8Array(100_000) },
      limits: { backlogBytes: 4 * MIB },
    });
    const before = held();
    const error = await failure(client.call['pester']?.({ name: 'big' }) ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'WASM_BACKLOG', facts: { signal: 'SIGKILL' } });
    expect(held() - before).toBeLessThan(64 * MIB);
  });

  it('a guest that starts more callbacks than allowed waits for the first ones', async () => {
    let most = 0;
    let running = 0;
    const { client } = await open(MISBEHAVE, {
      limits: { concurrentCallbacks: 8, stallMs: 60_000 },
      grant: {
        slow: async () => {
          running += 1;
          most = Math.max(most, running);
          await pause(5);
          running -= 1;
        },
      },
    });
    const error = await failure(client.call['pester']?.({ name: 'slow' }, { timeoutMs: 500 }) ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'WASM_TIMEOUT' });
    expect(most).toBe(8);
  });

  it('a frame of 15 MiB goes there and back, one over the limit is refused before it is sent', async () => {
    const { client } = await open(C_GUEST, { timeoutMs: 15_000 });
    const large = new Uint8Array(15 * MIB).fill(7);
    const back = await client.call['echo']?.(large);
    expect(back instanceof Uint8Array && Buffer.compare(back, large)).toBe(0);
    expect(await failure(client.call['echo']?.(new Uint8Array(17 * MIB)) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_PARAMS_INVALID',
    });
    expect(await client.call['add']?.([1, 2])).toBe(3);
  });
});

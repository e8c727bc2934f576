import { describe, expect, it } from 'vitest';
import { createSink } from '../../src/wasm/index.js';
import {
  ASSEMBLYSCRIPT_GUEST,
  C_GUEST,
  collect,
  failure,
  from,
  GO_GUEST,
  NONBLOCKING_GUEST,
  open,
  RUST_GUEST,
  ZIG_GUEST,
} from './guests.js';

describe.each([
  ['C', C_GUEST],
  ['C that reads without blocking', NONBLOCKING_GUEST],
  ['Zig', ZIG_GUEST],
  ['AssemblyScript', ASSEMBLYSCRIPT_GUEST],
  ['Rust', RUST_GUEST],
  ['Go', GO_GUEST],
])('a guest in %s', (_language, file) => {
  it('runs every part of the protocol', async () => {
    const { client, events } = await open(file, { grant: { upper: (text) => String(text).toUpperCase() } });
    const { add, divide, echo, callHost, produce, consume, sleep } = client.call;
    expect(await add?.([1.5, 2.5])).toBe(4);
    expect(await failure(divide?.([1, 0]) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_CALL_FAILED',
      message: 'Division by zero',
    });
    expect(await divide?.([1, 4])).toBe(0.25);
    const value = { text: 'é😀', list: [null, true, -1, 70_000, 1.5], bytes: Uint8Array.of(0, 255), nested: { a: {} } };
    expect(await echo?.(value)).toEqual(value);
    expect(await echo?.(2n ** 63n)).toBe(2n ** 63n);
    expect(await callHost?.({ name: 'upper', params: 'abc' })).toBe('ABC');
    expect(await callHost?.({ name: (n: unknown) => Number(n) + 1, params: 41 })).toBe(42);
    const stream = createSink();
    const [chunks, count] = await Promise.all([collect(stream), produce?.({ stream, count: 300, size: 16 })]);
    expect(count).toBe(300);
    expect(chunks.map((chunk) => (chunk instanceof Uint8Array ? Buffer.from(chunk).readUInt32LE() : -1))).toEqual([
      ...Array(300).keys(),
    ]);
    expect(await consume?.({ stream: from([1, 2, 3.5]) })).toEqual([3, 6.5]);
    const before = performance.now();
    expect(await sleep?.(30)).toBe(1);
    expect(performance.now() - before).toBeGreaterThanOrEqual(29);
    expect(events.filter(({ type }) => type === 'started')).toHaveLength(1);
  });
});

describe.each([
  ['polls a clock and its input', C_GUEST],
  ['reads without blocking', NONBLOCKING_GUEST],
  ['has the runtime of Go', GO_GUEST],
])('a guest that %s', (_how, file) => {
  it('answers others while it sleeps, and wakes up without being spoken to', async () => {
    const { client } = await open(file);
    const order: string[] = [];
    const { add, sleep } = client.call;
    // The first sleep starts the thread that listens meanwhile.
    await sleep?.(50);
    const sleeping = [800, 400, 1_200].map((ms) => sleep?.(ms).then(() => order.push(`slept ${ms}`)));
    for (let index = 0; index < 3; index += 1) {
      await add?.([1, 1]);
      order.push('added');
    }
    await Promise.all(sleeping);
    expect(order).toEqual(['added', 'added', 'added', 'slept 400', 'slept 800', 'slept 1200']);
  });

  it('ends when its input does, also while it sleeps', async () => {
    const { client, events } = await open(file, { limits: { disposeGraceMs: 5_000 } });
    void client.call['sleep']?.(60_000).catch(() => {});
    await client.call['add']?.([1, 1]);
    await client.dispose();
    expect(events.at(-1)).toMatchObject({ type: 'ended', exitCode: 0, signal: null });
  });
});

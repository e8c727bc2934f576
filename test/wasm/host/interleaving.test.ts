import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { AnyFunctions } from '../../../src/wasm/index.js';
import { createSink, type WasmClient } from '../../../src/wasm/index.js';
import { C_GUEST, collect, NONBLOCKING_GUEST, open } from '../guests.js';

async function* numbers(from: number, count: number, pauses: readonly boolean[]): AsyncGenerator<number> {
  for (let index = 0; index < count; index += 1) {
    if (pauses[index % pauses.length] === true) await new Promise((resolve) => setImmediate(resolve));
    yield from + index;
  }
}

/** One thing to do, and what must come of it. */
type Job = (client: WasmClient<AnyFunctions>, pauses: readonly boolean[]) => Promise<void>;

const call =
  (index: number): Job =>
  async (client) => {
    expect(await client.call['echo']?.({ index, text: `call ${index}` })).toEqual({ index, text: `call ${index}` });
  };
const callback =
  (index: number): Job =>
  async (client, pauses) => {
    const seen: unknown[] = [];
    const name = async (params: unknown): Promise<number> => {
      seen.push(params);
      if (pauses[index % pauses.length] === true) await new Promise((resolve) => setImmediate(resolve));
      return index * 1_000 + seen.length;
    };
    expect(await client.call['callHost']?.({ name, params: { index }, times: 3 })).toBe(index * 1_000 + 3);
    expect(seen).toEqual([{ index }, { index }, { index }]);
  };
const granted =
  (index: number): Job =>
  async (client) => {
    expect(await client.call['callHost']?.({ name: 'double', params: index })).toBe(index * 2);
  };
const produce =
  (index: number): Job =>
  async (client) => {
    const stream = createSink();
    const count = 50 + index * 7;
    const [chunks, sent] = await Promise.all([
      collect(stream),
      client.call['produce']?.({ stream, count, size: 8 + index }),
    ]);
    expect(sent).toBe(count);
    expect(
      chunks.map((chunk) => (chunk instanceof Uint8Array ? [chunk.length, Buffer.from(chunk).readUInt32LE()] : chunk)),
    ).toEqual(Array.from({ length: count }, (_, position) => [8 + index, position]));
  };
const consume =
  (index: number): Job =>
  async (client, pauses) => {
    const count = 30 + index;
    const sum = Array.from({ length: count }, (_, position) => index * 100 + position).reduce(
      (total, item) => total + item,
      0,
    );
    expect(await client.call['consume']?.({ stream: numbers(index * 100, count, pauses) })).toEqual([count, sum]);
  };

const many = (count: number, job: (index: number) => Job): Job[] =>
  Array.from({ length: count }, (_, index) => job(index));
const JOBS: readonly Job[] = [
  ...many(120, call),
  ...many(40, callback),
  ...many(40, granted),
  ...many(10, produce),
  ...many(10, consume),
];

describe('200 calls at once, with callbacks and ten streams in each direction', () => {
  it.each([
    ['a guest that polls', C_GUEST],
    ['a guest that reads without blocking', NONBLOCKING_GUEST],
  ])('never cross and never wait for each other for ever: %s', async (_name, file) => {
    const { client, events } = await open(file, {
      grant: { double: async (value) => Number(value) * 2 },
      timeoutMs: 15_000,
    });
    const order = fc.shuffledSubarray([...JOBS.keys()], { minLength: JOBS.length, maxLength: JOBS.length });
    const pauses = fc.array(fc.boolean(), { minLength: 3, maxLength: 17 });
    await fc.assert(
      fc.asyncProperty(order, pauses, async (turns, rhythm) => {
        await Promise.all(turns.map((turn) => JOBS[turn]?.(client, rhythm)));
      }),
      { numRuns: 12 },
    );
    expect(events.map(({ type }) => type)).toEqual(['started']);
  });
});

import fc from 'fast-check';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import {
  INPUT_WRITE_BYTES,
  TERMINAL_PROMPT_RETRIES,
  TERMINAL_RETRY_MAX_MS,
  TERMINAL_TURN_BYTES,
} from '../../src/sandbox/limits.js';
import { TerminalInput, type TerminalWriter } from '../../src/sandbox/terminal-input.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const QUEUE = 8 * 1024;
const bytes = (length: number): Uint8Array => new Uint8Array(length);

/** A kernel that takes what there is room for. */
function kernel(room: number) {
  const state = { room, taken: [] as number[], tries: 0 };
  const writer: TerminalWriter = (data) => {
    state.tries += 1;
    const count = Math.min(data.length, state.room);
    if (count === 0) return 'full';
    state.room -= count;
    for (const byte of data.subarray(0, count)) state.taken.push(byte);
    return count;
  };
  return { state, writer };
}

test('hands a write that fits to the kernel before the call returns', async () => {
  const { state, writer } = kernel(100);
  const written = new TerminalInput(writer, QUEUE).write(Uint8Array.of(1, 2, 3));
  expect(state.taken).toEqual([1, 2, 3]);
  await written;
});

test('an empty write asks nothing of the kernel', async () => {
  const { state, writer } = kernel(0);
  await new TerminalInput(writer, QUEUE).write(bytes(0));
  expect(state.tries).toBe(0);
});

test('loses and reorders nothing, however little the kernel takes at a time', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 50 }), { minLength: 1, maxLength: 10 }),
      fc.array(fc.nat(20), { minLength: 1 }),
      async (writes, rooms) => {
        const { state, writer } = kernel(0);
        const input = new TerminalInput(writer, QUEUE);
        const all = Promise.all(writes.map((data) => input.write(data)));
        for (const room of rooms) {
          state.room = room;
          await vi.advanceTimersByTimeAsync(TERMINAL_RETRY_MAX_MS);
        }
        state.room = Number.POSITIVE_INFINITY;
        await vi.advanceTimersByTimeAsync(TERMINAL_RETRY_MAX_MS);
        await all;
        expect(state.taken).toEqual(writes.flatMap((data) => [...data]));
      },
    ),
    { numRuns: 50 },
  );
});

test('asks a full kernel ever less often, and at once more often when something moves', async () => {
  const { state, writer } = kernel(0);
  const input = new TerminalInput(writer, QUEUE);
  const written = input.write(bytes(10));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(state.tries).toBeLessThan(10_000 / TERMINAL_RETRY_MAX_MS + TERMINAL_PROMPT_RETRIES + 10);
  state.room = 5;
  await vi.advanceTimersByTimeAsync(TERMINAL_RETRY_MAX_MS);
  const before = state.tries;
  await vi.advanceTimersByTimeAsync(3);
  expect(state.tries - before).toBeGreaterThanOrEqual(1);
  state.room = 5;
  await vi.advanceTimersByTimeAsync(TERMINAL_RETRY_MAX_MS);
  await written;
});

test('lets others have a turn while a child reads as fast as it is written to', async () => {
  const sizes: number[] = [];
  const input = new TerminalInput((data) => sizes.push(data.length) && data.length, QUEUE);
  const written = input.write(bytes(3 * TERMINAL_TURN_BYTES));
  expect(sizes).toEqual([TERMINAL_TURN_BYTES]);
  await vi.advanceTimersByTimeAsync(1);
  await written;
  expect(sizes).toHaveLength(3);
});

test('refuses what goes beyond the queue, but takes a single write of any size', async () => {
  const { state, writer } = kernel(0);
  const input = new TerminalInput(writer, QUEUE);
  const large = input.write(bytes(5 * QUEUE));
  await expect(input.write(bytes(1))).rejects.toMatchObject({
    code: 'SPAWN_INPUT_BACKLOG',
    facts: { waiting: 5 * QUEUE + INPUT_WRITE_BYTES, limit: QUEUE },
  });
  state.room = 5 * QUEUE;
  await vi.advanceTimersByTimeAsync(1);
  await large;
  state.room = 1;
  await input.write(bytes(1));
});

test('rejects what waits when it is closed, and everything later, and leaves no timer behind', async () => {
  const { state, writer } = kernel(0);
  const input = new TerminalInput(writer, QUEUE);
  const waiting = Promise.allSettled([input.write(bytes(1)), input.end()]);
  input.close();
  const code = 'SPAWN_INPUT_CLOSED';
  const rejected = { status: 'rejected', reason: expect.objectContaining({ code }) };
  expect(await waiting).toEqual([rejected, rejected]);
  await expect(input.write(bytes(1))).rejects.toMatchObject({ code });
  expect(vi.getTimerCount()).toBe(0);
  expect(state.tries).toBe(1);
});

test('is closed when the kernel says that nobody is there to read', async () => {
  const input = new TerminalInput(() => 'closed', QUEUE);
  const code = 'SPAWN_INPUT_CLOSED';
  await expect(input.write(bytes(1))).rejects.toMatchObject({ code });
  await expect(input.end()).rejects.toMatchObject({ code });
});

test('writes that wait take up room themselves, also those without bytes', async () => {
  const input = new TerminalInput(kernel(0).writer, 100 * INPUT_WRITE_BYTES);
  const writes = [input.write(bytes(1))];
  for (let index = 0; index < 199; index += 1) writes.push(input.write(bytes(0)));
  input.close();
  const codes = (await Promise.allSettled(writes)).map((each) => each.status === 'rejected' && each.reason.code);
  expect(codes.filter((code) => code === 'SPAWN_INPUT_BACKLOG').length).toBeGreaterThan(90);
});

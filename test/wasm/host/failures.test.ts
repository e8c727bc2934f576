import { describe, expect, it } from 'vitest';
import type { AnyFunctions } from '../../../src/wasm/index.js';
import { createSink, type WasmClient } from '../../../src/wasm/index.js';
import { C_GUEST, collect, failure, MISBEHAVE, open } from '../guests.js';
import { VIOLATIONS } from '../violations.js';
import { CALL_ITSELF, LOOP, start, UNREACHABLE } from '../wasm-bytes.js';

const KILLED = { exitCode: null, signal: 'SIGKILL', killed: true };

/** The next call works on a fresh guest. */
async function expectFresh(client: WasmClient<AnyFunctions>): Promise<void> {
  expect(await client.call['add']?.([20, 22])).toBe(42);
}

const misbehave = (client: WasmClient<AnyFunctions>, how: string, timeoutMs = 10_000): Promise<unknown> =>
  failure(client.call['misbehave']?.(how, { timeoutMs }) ?? Promise.resolve());

describe('a guest that breaks the rules of the wire', () => {
  it.concurrent.for(VIOLATIONS)(
    'is ended for %s with %s, and the next call works',
    { timeout: 30_000 },
    async ([how, code, detail], context) => {
      const { client } = await open(MISBEHAVE, { warm: 1 }, context.onTestFinished);
      const error = await misbehave(client, how);
      expect(error).toMatchObject({ code, facts: { ...KILLED, waiting: 'misbehave' } });
      if (typeof detail === 'string') expect(error).toMatchObject({ facts: { violation: detail } });
      if (detail instanceof RegExp) expect(error).toMatchObject({ message: expect.stringMatching(detail) });
      await expectFresh(client);
    },
  );

  it('is ended when a frame stops half-way', async () => {
    const { client } = await open(MISBEHAVE, { limits: { frameTimeoutMs: 100 } });
    expect(await misbehave(client, 'half-a-frame')).toMatchObject({
      code: 'WASM_FRAME_INVALID',
      facts: { ...KILLED, violation: 'WIRE_FRAME_TIMEOUT' },
    });
    await expectFresh(client);
  });

  it('is ended for answering twice', async () => {
    const { client, events } = await open(MISBEHAVE);
    await client.call['misbehave']?.('second-response');
    await expect
      .poll(() => events.find(({ type }) => type === 'ended'))
      .toMatchObject({ error: { code: 'WASM_UNKNOWN_ID' } });
    await expectFresh(client);
  });

  it('is ended for answering what must not be answered', async () => {
    const { client, events } = await open(MISBEHAVE);
    await client.notify['answerAnyway']?.();
    await expect
      .poll(() => events.find(({ type }) => type === 'ended'))
      .toMatchObject({ error: { code: 'WASM_UNKNOWN_ID' } });
    await expectFresh(client);
  });

  it('is ended for a chunk after the end of its stream', async () => {
    const { client } = await open(MISBEHAVE);
    const stream = createSink();
    const error = await failure(client.call['chunkAfterEnd']?.({ stream }) ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'WASM_UNKNOWN_ID', message: expect.stringContaining('ended already') });
    expect(await collect(stream)).toEqual([]);
    await expectFresh(client);
  });

  it('is ended for using an id twice', async () => {
    const { client } = await open(MISBEHAVE, { grant: { slow: () => 1 } });
    const error = await failure(client.call['reuseId']?.({ name: 'slow' }) ?? Promise.resolve());
    expect(error).toMatchObject({ code: 'WASM_UNKNOWN_ID', message: expect.stringContaining('used before') });
    await expectFresh(client);
  });
});

describe('a guest that fails as a process', () => {
  it.concurrent.for<[string, string, object]>([
    ['exit', 'WASM_EXITED', { exitCode: 3, signal: null }],
    ['exit-zero', 'WASM_EXITED', { exitCode: 0, signal: null }],
    ['exit-in-frame', 'WASM_EXITED', { exitCode: 4, signal: null }],
    ['trap', 'WASM_TRAPPED', { exitCode: 134, stage: 'run' }],
    ['recursion', 'WASM_TRAPPED', { exitCode: 134, stage: 'run' }],
    ['close-output', 'WASM_EXITED', KILLED],
  ])('by %s is reported as %s with its exit', async ([how, code, facts], context) => {
    const { client } = await open(MISBEHAVE, {}, context.onTestFinished);
    expect(await misbehave(client, how)).toMatchObject({ code, facts });
    await expectFresh(client);
  });

  it('carries the end of a flood on standard error, escaped', async () => {
    const { client, events } = await open(MISBEHAVE);
    const error = await misbehave(client, 'stderr-flood');
    expect(error).toMatchObject({ code: 'WASM_EXITED', facts: { exitCode: 5 } });
    const ended = events.find((event) => event.type === 'ended');
    expect(ended?.stderr).toMatch(/\\u001b\[31mthe end\\u0007$/);
    expect(ended?.stderr.length).toBeLessThan(10_000);
    expect(String(error)).not.toContain('\x1b');
  });

  it('that loops is ended by the timeout, with all of its calls, and each says which call was at fault', async () => {
    const { client } = await open(MISBEHAVE, { timeoutMs: 20_000 });
    await expectFresh(client);
    const [guilty, innocent] = await Promise.all([
      misbehave(client, 'loop', 200),
      failure(client.call['add']?.([1, 2]) ?? Promise.resolve()),
    ]);
    expect(guilty).toMatchObject({
      code: 'WASM_TIMEOUT',
      facts: { ...KILLED, function: 'misbehave', waiting: 'misbehave', limitMs: 200 },
    });
    expect(innocent).toMatchObject({ code: 'WASM_TIMEOUT', facts: { function: 'misbehave', waiting: 'add' } });
    await expectFresh(client);
  });

  it('and sends text with escapes never reaches a terminal with them', async () => {
    const { client } = await open(MISBEHAVE);
    const error = await misbehave(client, 'escape-error');
    expect(error).toMatchObject({ code: 'WASM_CALL_FAILED', message: '\\u001b]0;owned\\u0007\\u001b[2Jred' });
  });
});

describe('a module that fails at its start', () => {
  const call = (client: WasmClient<AnyFunctions>): Promise<unknown> =>
    failure(client.call['add']?.([1, 2]) ?? Promise.resolve());

  it.concurrent.for<[string, Uint8Array, string, RegExp]>([
    ['exits before its first frame', start(), 'WASM_EXITED', /before it sent a frame: exit code 0/],
    ['traps in _start', start({ code: UNREACHABLE }), 'WASM_TRAPPED', /unreachable/],
    ['traps in its start function', start({ code: UNREACHABLE, runAtStart: true }), 'WASM_START_FAILED', /unreachable/],
    ['recurses without end', start({ code: CALL_ITSELF, runAtStart: true }), 'WASM_START_FAILED', /call stack/i],
    ['does not validate', start({ code: [0x1a] }), 'WASM_START_FAILED', /compile/],
    [
      'imports a function that WASI has not',
      start({ import: ['wasi_snapshot_preview1', 'fd_levitate'] }),
      'WASM_START_FAILED',
      /link/,
    ],
  ])('because it %s is reported as such', async ([, bytes, code, message], context) => {
    const { client } = await open(bytes, {}, context.onTestFinished);
    expect(await call(client)).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it.concurrent('because its start function loops is ended in time', async (context) => {
    const { client } = await open(
      start({ code: LOOP, runAtStart: true }),
      { limits: { startTimeoutMs: 300 } },
      context.onTestFinished,
    );
    expect(await call(client)).toMatchObject({ code: 'WASM_START_TIMEOUT', facts: KILLED });
  });

  it.concurrent('because _start loops is ended by the call that waits for it', async (context) => {
    const { client } = await open(start({ code: LOOP }), { timeoutMs: 300 }, context.onTestFinished);
    expect(await call(client)).toMatchObject({ code: 'WASM_TIMEOUT', facts: KILLED });
  });

  it.concurrent('with a hundred thousand functions starts or is ended in time', {
    timeout: 30_000,
  }, async (context) => {
    const { client } = await open(
      start({ functions: 100_000 }),
      { limits: { startTimeoutMs: 5_000 } },
      context.onTestFinished,
    );
    expect(await call(client)).toMatchObject({ code: expect.stringMatching(/^WASM_(EXITED|START_TIMEOUT)$/) });
  });

  it('again and again is backed off and reported', async () => {
    const { client, events } = await open(start({ code: UNREACHABLE }));
    const codes: unknown[] = [];
    for (let attempt = 0; attempt < 8; attempt += 1) {
      const error = await call(client);
      codes.push(error instanceof Error && 'code' in error ? error.code : error);
    }
    expect(codes.slice(0, 4)).toEqual(Array.from({ length: 4 }, () => 'WASM_TRAPPED'));
    expect(codes.at(-1)).toBe('WASM_BACKOFF');
    expect(events.filter(({ type }) => type === 'backoff').length).toBeGreaterThan(1);
  });
});

describe('a good guest', () => {
  it('survives an error of its own function', async () => {
    const { client, events } = await open(C_GUEST);
    expect(await failure(client.call['divide']?.([1, 0]) ?? Promise.resolve())).toMatchObject({
      code: 'WASM_CALL_FAILED',
      message: 'Division by zero',
      facts: { function: 'divide' },
    });
    expect(await client.call['divide']?.([9, 3])).toBe(3);
    expect(events.filter(({ type }) => type === 'started')).toHaveLength(1);
  });
});

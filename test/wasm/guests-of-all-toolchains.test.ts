import { describe, expect, it } from 'vitest';
import { createSink } from '../../src/wasm/index.js';
import { REFUSED_CALLS, REFUSED_FRAMES } from './bad-input.js';
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
import { driveByHand } from './raw-guest.js';

const GUESTS: readonly (readonly [language: string, file: string])[] = [
  ['C', C_GUEST],
  ['C that reads without blocking', NONBLOCKING_GUEST],
  ['Zig', ZIG_GUEST],
  ['AssemblyScript', ASSEMBLYSCRIPT_GUEST],
  ['Rust', RUST_GUEST],
  ['Go', GO_GUEST],
];
const ADD = { type: 0, id: 'add', functionName: 'add', params: [20, 22] };
const ADDED = { type: 1, id: 'add', result: 42 };

describe.each(GUESTS)('a guest in %s', (_language, file) => {
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

describe.each(GUESTS)('a guest in %s, given what it should not be given,', (_language, file) => {
  it('refuses calls whose parameters do not fit, and goes on', async () => {
    const guest = await driveByHand(file);
    for (const [index, [functionName, params, error]] of REFUSED_CALLS.entries()) {
      const id = `c${index}`;
      await guest.send({ type: 0, id, functionName, ...(params === undefined ? {} : { params }) });
      const answer = await guest.next();
      expect(answer, `${functionName} of ${JSON.stringify(params)}`).toEqual({
        type: 2,
        id,
        error: expect.stringMatching(error),
      });
    }
    await guest.send(ADD);
    expect(await guest.next()).toEqual(ADDED);
    expect(guest.heard).toHaveLength(REFUSED_CALLS.length + 1);
  });

  // Its code is that of the other guest in C, and a process for each frame takes its time.
  const frames = file === NONBLOCKING_GUEST ? REFUSED_FRAMES.slice(0, 3) : REFUSED_FRAMES;
  it.each(frames)('ends at %s', async (_what, bytes) => {
    const guest = await driveByHand(file);
    await guest.send(ADD);
    expect(await guest.next()).toEqual(ADDED);
    await guest.send(bytes, { ...ADD, id: 'after' });
    expect(await guest.ended).toMatchObject({ exitCode: 1, signal: null, stderr: '', failure: undefined });
    expect(guest.heard).toEqual([ADDED]);
  });

  it.each([
    ['the host', { functionName: 'callHost', params: { name: 'any' } }],
    ['a stream', { functionName: 'consume', params: { stream: 'in' } }],
  ])('ends at a frame of another version also while it waits for %s', async (_what, waiting) => {
    const guest = await driveByHand(file);
    await guest.send({ type: 0, id: 'waits', ...waiting }, { type: 3, id: 'in', chunk: 1 });
    if (waiting.functionName === 'callHost') expect(await guest.next()).toMatchObject({ type: 0, functionName: 'any' });
    const heard = guest.heard.length;
    await guest.send(Buffer.of(2, 0, 0, 0, 1, 0), ADD);
    expect(await guest.ended).toMatchObject({ exitCode: 1, failure: undefined });
    expect(guest.heard).toHaveLength(heard);
  });

  it.each([
    ['between frames', []],
    ['within a header', [1, 0]],
    ['after a header', [1, 0, 0, 0, 9]],
    ['within a payload', [1, 0, 0, 0, 9, 0x84, 0xa4]],
  ])('ends in peace when its input ends %s', async (_where, bytes) => {
    const guest = await driveByHand(file);
    await guest.send(ADD);
    expect(await guest.next()).toEqual(ADDED);
    if (bytes.length > 0) await guest.send(Buffer.from(bytes));
    await guest.end();
    expect(await guest.ended).toMatchObject({ exitCode: 0, signal: null, stderr: '', failure: undefined });
    expect(guest.heard).toEqual([ADDED]);
  });

  it('answers a call that its input ends right after', async () => {
    const guest = await driveByHand(file);
    await guest.send(ADD, { ...ADD, id: 'second' });
    await guest.end();
    expect(await guest.ended).toMatchObject({ exitCode: 0 });
    expect(guest.heard).toHaveLength(2);
    expect(guest.heard).toEqual(expect.arrayContaining([ADDED, { ...ADDED, id: 'second' }]));
  });

  it('never takes a stream that was cut off for one that ended', async () => {
    const guest = await driveByHand(file);
    await guest.send(
      { type: 0, id: 'c', functionName: 'consume', params: { stream: 'in' } },
      { type: 3, id: 'in', chunk: 1 },
    );
    await guest.end();
    expect(await guest.ended).toMatchObject({ exitCode: 0 });
    expect(guest.heard.filter((one) => JSON.stringify(one).includes('result'))).toEqual([]);
  });

  it('passes on what the host and a stream fail with, to the last character', async () => {
    // Longer than any buffer that is likely, with characters of several bytes at every place where it might be cut.
    const error = `nul \0 and ${'é😀'.repeat(2_000)}`;
    const guest = await driveByHand(file);
    for (const text of [error, '']) {
      const [called, consumed, stream] = ['called', 'consumed', 'in'].map((id) => `${id}-${text.length}`);
      await guest.send({ type: 0, id: called, functionName: 'callHost', params: { name: 'fails', params: 1 } });
      const asked = await guest.next();
      expect(asked).toMatchObject({ type: 0, functionName: 'fails', params: 1 });
      await guest.send({ type: 2, id: (asked as { id: string }).id, error: text });
      expect(await guest.next()).toEqual({ type: 2, id: called, error: text });
      await guest.send(
        { type: 0, id: consumed, functionName: 'consume', params: { stream } },
        { type: 3, id: stream, chunk: 1 },
        { type: 5, id: stream, error: text },
      );
      expect(await guest.next()).toEqual({ type: 2, id: consumed, error: text });
    }
    await guest.send(ADD);
    expect(await guest.next()).toEqual(ADDED);
  });

  it('takes no answer for that of a call which it makes only later', async () => {
    const guest = await driveByHand(file);
    await guest.send(...Array.from({ length: 3 }, (_, index) => ({ type: 1, id: `g${index}`, result: 'forged' })));
    await guest.send({ type: 0, id: 'c', functionName: 'callHost', params: { name: 'any' } });
    const asked = await guest.next();
    expect(asked).toMatchObject({ type: 0, functionName: 'any' });
    await guest.send({ type: 1, id: (asked as { id: string }).id, result: 'true' });
    expect(await guest.next()).toEqual({ type: 1, id: 'c', result: 'true' });
  });

  it('lives with streams that nobody receives, that go on after their end, and that wait for long', async () => {
    const guest = await driveByHand(file);
    const chunks = Array.from({ length: 1_500 }, () => ({ type: 3, id: 'stray', chunk: 1 }));
    await guest.send(
      ...chunks,
      { type: 4, id: 'stray' },
      { type: 4, id: 'stray' },
      { type: 3, id: 'stray', chunk: 1 },
      ADD,
    );
    expect(await guest.next()).toEqual(ADDED);
  });

  it('produces chunks of any size, and as many as were asked for', async () => {
    const guest = await driveByHand(file);
    for (const size of [0, 1, 3, 70_000]) {
      const params = { stream: `out-${size}`, count: 1, size, error: null };
      await guest.send({ type: 0, id: `c${size}`, functionName: 'produce', params });
      expect(await guest.next()).toEqual({ type: 3, id: params.stream, chunk: new Uint8Array(size) });
      expect(await guest.next()).toEqual({ type: 4, id: params.stream });
      expect(await guest.next()).toEqual({ type: 1, id: `c${size}`, result: 1 });
    }
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

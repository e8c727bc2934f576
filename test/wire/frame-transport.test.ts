import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Duplex, PassThrough, Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import { type FrameTransportLimits, frameTransport } from '../../src/wire/frame-transport.js';
import { FrameDecoder } from '../../src/wire/frames.js';
import { decodeMessagePack } from '../../src/wire/msgpack/decode.js';
import { encodeFrame } from '../../src/wire/msgpack/encode.js';
import type { WireValue } from '../../src/wire/msgpack/wire-value.js';
import type { CloseReason, Transport } from '../../src/wire/transport.js';

/** A clock that only moves when told to. */
function manualClock() {
  const timers = new Map<object, () => void>();
  return {
    setTimeout(callback: () => void): object {
      const handle = {};
      timers.set(handle, callback);
      return handle;
    },
    clearTimeout(handle: unknown): void {
      if (typeof handle === 'object' && handle !== null) timers.delete(handle);
    },
    get armed(): number {
      return timers.size;
    },
    fire(): void {
      for (const [handle, callback] of [...timers]) {
        timers.delete(handle);
        callback();
      }
    },
  };
}

function open(limits: FrameTransportLimits = {}, writable: Writable = new PassThrough()) {
  const readable = new PassThrough();
  const clock = manualClock();
  const transport: Transport<WireValue, unknown> = frameTransport({
    readable,
    writable,
    decode: (payload) => decodeMessagePack(payload),
    encode: (message: unknown) => encodeFrame(message),
    limits,
    clock,
  });
  const closed = new Promise<CloseReason>((resolve) => transport.onClose(resolve));
  return { transport, readable, writable, clock, closed };
}

/** A peer that takes nothing until it is told to. */
function stuckWritable() {
  const waiting: (() => void)[] = [];
  const writes: Buffer[] = [];
  const writable = new Writable({
    highWaterMark: 100,
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk);
      waiting.push(done);
    },
  });
  return { writable, writes, release: () => waiting.shift()?.() };
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function collect(transport: Transport<WireValue, unknown>, count: number): Promise<WireValue[]> {
  return new Promise((resolve) => {
    const messages: WireValue[] = [];
    transport.onMessage((message) => {
      if (messages.push(message) === count) resolve(messages);
    });
  });
}

describe('frameTransport', () => {
  it('carries messages both ways over a pair of streams', async () => {
    const there = new PassThrough();
    const back = new PassThrough();
    const codec = { decode: (payload: Uint8Array) => decodeMessagePack(payload), encode: encodeFrame };
    const left = frameTransport<WireValue, unknown>({ readable: back, writable: there, ...codec });
    const right = frameTransport<WireValue, unknown>({ readable: there, writable: back, ...codec });
    right.onMessage((message) => right.send({ echo: message }));
    const answers = collect(left, 3);
    for (const message of [1, 'two', [3]]) void left.send(message);
    expect(await answers).toEqual([{ echo: 1 }, { echo: 'two' }, { echo: [3] }]);
    const ended = new Promise((resolve) => right.onClose(resolve));
    left.close();
    expect(await ended).toMatchObject({ kind: 'peer-closed' });
  });

  it('works on one duplex', async () => {
    const [a, b] = pair();
    const codec = { decode: (payload: Uint8Array) => decodeMessagePack(payload), encode: encodeFrame };
    const left = frameTransport<WireValue, unknown>({ readable: a, writable: a, ...codec });
    const right = frameTransport<WireValue, unknown>({ readable: b, writable: b, ...codec });
    const received = collect(right, 1);
    void left.send({ large: 'x'.repeat(100_000) });
    expect(await received).toEqual([{ large: 'x'.repeat(100_000) }]);
  });

  it('delivers nothing before somebody listens, and loses nothing', async () => {
    const { transport, readable } = open();
    readable.write(encodeFrame('early'));
    await nextTurn();
    expect(await collect(transport, 1)).toEqual(['early']);
  });

  it('writes everything that is sent in one go with one write', async () => {
    const stuck = stuckWritable();
    const { transport } = open({}, stuck.writable);
    for (let index = 0; index < 5; index += 1) void transport.send(index);
    await nextTurn();
    expect(stuck.writes).toHaveLength(1);
    const payloads: WireValue[] = [];
    new FrameDecoder().push(stuck.writes[0]!, (payload) => payloads.push(decodeMessagePack(payload)));
    expect(payloads).toEqual([0, 1, 2, 3, 4]);
  });

  it('asks the sender to wait while the peer does not read', async () => {
    const stuck = stuckWritable();
    const { transport } = open({}, stuck.writable);
    expect(transport.send('small')).toBeUndefined();
    const wait = transport.send('x'.repeat(200));
    expect(wait).toBeInstanceOf(Promise);
    let resumed = false;
    void Promise.resolve(wait).then(() => {
      resumed = true;
    });
    await nextTurn();
    expect(resumed).toBe(false);
    stuck.release();
    await wait;
    expect(transport.send('small')).toBeUndefined();
  });

  it('refuses more than its backlog, and goes on when there is room again', async () => {
    const stuck = stuckWritable();
    const { transport } = open({ maxBacklogBytes: 1000 }, stuck.writable);
    const wait = transport.send('x'.repeat(900));
    expect(() => transport.send('y'.repeat(200))).toThrow(expect.objectContaining({ code: 'WIRE_BACKLOG' }));
    await nextTurn();
    expect(() => transport.send('y'.repeat(200))).toThrow(expect.objectContaining({ code: 'WIRE_BACKLOG' }));
    stuck.release();
    await wait;
    void transport.send('y'.repeat(200));
  });

  it('takes one message over the backlog limit when nothing else waits', () => {
    const { transport } = open({ maxBacklogBytes: 10 });
    expect(() => transport.send('x'.repeat(100))).not.toThrow();
  });

  it('holds back the next message, and the reading, until a handler is done', async () => {
    const { transport, readable } = open();
    const gates: (() => void)[] = [];
    const seen: WireValue[] = [];
    transport.onMessage((message) => {
      seen.push(message);
      return new Promise<void>((resolve) => gates.push(resolve));
    });
    readable.write(Buffer.concat([encodeFrame(1), encodeFrame(2)]));
    await nextTurn();
    expect(seen).toEqual([1]);
    expect(readable.isPaused()).toBe(true);
    gates.shift()?.();
    await nextTurn();
    expect(seen).toEqual([1, 2]);
    gates.shift()?.();
    await nextTurn();
    expect(readable.isPaused()).toBe(false);
  });

  it('ends with a timeout when a frame stops half-way', async () => {
    const { transport, readable, clock, closed } = open({ frameTimeoutMs: 50 });
    transport.onMessage(() => {});
    readable.write(encodeFrame('half').subarray(0, 7));
    await nextTurn();
    expect(clock.armed).toBe(1);
    clock.fire();
    const reason = await closed;
    expect(reason.kind).toBe('error');
    expect(isSallyportError(reason.error, 'WIRE_FRAME_TIMEOUT')).toBe(true);
    expect(readable.destroyed).toBe(true);
  });

  it('stops the clock when the frame is complete, and does not start it between frames or while a handler works', async () => {
    const { transport, readable, clock } = open();
    let release = (): void => {};
    transport.onMessage(
      () =>
        new Promise<void>((resolve) => {
          release = resolve;
        }),
    );
    const bytes = encodeFrame('whole');
    readable.write(bytes.subarray(0, 3));
    await nextTurn();
    expect(clock.armed).toBe(1);
    readable.write(Buffer.concat([bytes.subarray(3), bytes.subarray(0, 3)]));
    await nextTurn();
    expect(clock.armed).toBe(0);
    release();
    await nextTurn();
    expect(clock.armed).toBe(1);
    readable.write(bytes.subarray(3));
    await nextTurn();
    expect(clock.armed).toBe(0);
  });

  it('does not give a frame more time because it arrives in drops', async () => {
    const { transport, readable, clock, closed } = open();
    transport.onMessage(() => {});
    const bytes = encodeFrame('drop by drop');
    readable.write(bytes.subarray(0, 2));
    await nextTurn();
    const timers = clock.armed;
    readable.write(bytes.subarray(2, 8));
    await nextTurn();
    expect([timers, clock.armed]).toEqual([1, 1]);
    clock.fire();
    expect((await closed).kind).toBe('error');
  });

  it.each([
    ['WIRE_FRAME_VERSION', Buffer.from('hello\n')],
    ['WIRE_FRAME_TOO_LARGE', Buffer.from('01ffffffff', 'hex')],
    ['WIRE_FRAME_EMPTY', Buffer.from('0100000000', 'hex')],
    ['WIRE_TRAILING', Buffer.from('01000000020000', 'hex')],
    ['WIRE_EXTENSION', Buffer.from('0100000003d40000', 'hex')],
  ])('delivers what came before and then ends with %s', async (code, bad) => {
    const { transport, readable, writable, closed } = open();
    const received = collect(transport, 1);
    readable.write(Buffer.concat([encodeFrame('good'), bad, encodeFrame('never')]));
    expect(await received).toEqual(['good']);
    const reason = await closed;
    expect(reason).toMatchObject({ kind: 'error', error: { code } });
    expect(writable.destroyed).toBe(true);
    expect(() => transport.send(1)).toThrow(expect.objectContaining({ code: 'WIRE_CLOSED' }));
  });

  it('ends in peace when the peer ends between frames, after the last message was handled', async () => {
    const { transport, readable, closed } = open();
    const seen: WireValue[] = [];
    transport.onMessage(async (message) => {
      await nextTurn();
      seen.push(message);
    });
    readable.end(Buffer.concat([encodeFrame(1), encodeFrame(2)]));
    expect(await closed).toMatchObject({ kind: 'peer-closed' });
    expect(seen).toEqual([1, 2]);
  });

  it('ends with an error when the peer ends within a frame', async () => {
    const { transport, readable, closed } = open();
    transport.onMessage(() => {});
    readable.end(encodeFrame('cut').subarray(0, 6));
    expect(await closed).toMatchObject({ kind: 'error', error: { code: 'WIRE_FRAME_TRUNCATED' } });
  });

  it('ends with the error of the input', async () => {
    const { transport, readable, closed } = open();
    transport.onMessage(() => {});
    readable.destroy(new Error('reset'));
    expect(await closed).toMatchObject({ kind: 'error', error: { message: 'reset' } });
  });

  it('reads the last words of a peer whose input has broken', async () => {
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) });
    const { transport, readable, closed, clock } = open({}, broken);
    const received = collect(transport, 1);
    void transport.send('anyone?');
    await once(broken, 'error');
    expect(() => transport.send('more')).toThrow(expect.objectContaining({ code: 'WIRE_CLOSED' }));
    readable.end(encodeFrame('last words'));
    expect(await received).toEqual(['last words']);
    expect(await closed).toMatchObject({ kind: 'error', error: { message: 'EPIPE' } });
    expect(clock.armed).toBe(0);
  });

  it('does not wait for ever for a peer whose input has broken', async () => {
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) });
    const { transport, closed, clock } = open({}, broken);
    void transport.send('anyone?');
    await once(broken, 'error');
    clock.fire();
    expect(await closed).toMatchObject({ kind: 'error', error: { message: 'EPIPE' } });
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('mine');
      },
    ],
    ['rejects', () => Promise.reject(new Error('mine'))],
  ])('ends when a handler %s', async (_, handler) => {
    const { transport, readable, closed } = open();
    transport.onMessage(handler);
    readable.write(encodeFrame(1));
    expect(await closed).toMatchObject({ kind: 'error', error: { message: 'mine' } });
  });

  it('delivers what was sent before a polite close', async () => {
    const { transport, writable, closed } = open();
    const written: Buffer[] = [];
    writable.on('data', (chunk: Buffer) => written.push(chunk));
    void transport.send('goodbye');
    transport.close('done here');
    await once(writable, 'finish');
    expect(await closed).toEqual({ kind: 'closed', message: 'done here' });
    await nextTurn();
    expect(Buffer.concat(written)).toEqual(Buffer.from(encodeFrame('goodbye')));
  });

  it('tells the reason of its end once, also to those who come late', async () => {
    const { transport, closed } = open();
    transport.close();
    transport.terminate();
    const first = await closed;
    expect(first.kind).toBe('closed');
    expect(await new Promise((resolve) => transport.onClose(resolve))).toBe(first);
  });

  it('cuts the streams off at once when terminated, also after a polite close', async () => {
    for (const polite of [[], ['close']]) {
      const stuck = stuckWritable();
      const { transport, readable, closed } = open({}, stuck.writable);
      const wait = transport.send('x'.repeat(200));
      if (polite.length > 0) transport.close();
      transport.terminate();
      expect([readable.destroyed, stuck.writable.destroyed]).toEqual([true, true]);
      await closed;
      await wait;
    }
  });

  it('loses nothing of a child that has exited before anybody listens', async () => {
    const bytes = JSON.stringify([...Buffer.concat([encodeFrame('one'), encodeFrame('x'.repeat(20_000))])]);
    const child = spawn(process.execPath, ['-e', `process.stdout.write(Buffer.from(${bytes}))`], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const transport = frameTransport<WireValue, unknown>({
      readable: child.stdout,
      writable: child.stdin,
      decode: (payload) => decodeMessagePack(payload),
      encode: encodeFrame,
    });
    await once(child, 'exit');
    await nextTurn();
    const closed = new Promise<CloseReason>((resolve) => transport.onClose(resolve));
    expect(await collect(transport, 2)).toEqual(['one', 'x'.repeat(20_000)]);
    expect(await closed).toMatchObject({ kind: 'peer-closed' });
  });

  it('hears nothing more after it has unsubscribed', async () => {
    const { transport, readable } = open();
    const seen: WireValue[] = [];
    const stop = transport.onMessage((message) => {
      seen.push(message);
    });
    readable.write(encodeFrame(1));
    await nextTurn();
    stop();
    readable.write(encodeFrame(2));
    await nextTurn();
    expect(seen).toEqual([1]);
    expect(await collect(transport, 1)).toEqual([2]);
  });
});

/** Two ends of one connection. */
function pair(): [Duplex, Duplex] {
  const end = (other: () => Duplex): Duplex =>
    new Duplex({
      read() {},
      write(chunk: Buffer, _encoding, done) {
        other().push(chunk);
        done();
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  const a: Duplex = end(() => b);
  const b: Duplex = end(() => a);
  return [a, b];
}

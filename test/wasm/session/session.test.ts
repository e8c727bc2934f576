import { describe, expect, it } from 'vitest';
import { completeLimits, type WasmLimits } from '../../../src/wasm/limits.js';
import type { Message, OutgoingMessage } from '../../../src/wasm/messages.js';
import { readMessage } from '../../../src/wasm/messages.js';
import { DuplexSession } from '../../../src/wasm/session/session.js';
import { createSink } from '../../../src/wasm/session/sink.js';
import type { IncomingCall, SessionOptions } from '../../../src/wasm/session/types.js';
import { decodeMessagePack, encodeMessagePack } from '../../../src/wire/index.js';
import { collect, failure, from } from '../guests.js';

interface Bench {
  readonly session: DuplexSession;
  readonly sent: Message[];
  advance(milliseconds: number): unknown;
}

/** A session without pipe, process or clock. */
function host(
  options: { readonly grant?: SessionOptions['grant']; readonly limits?: Partial<WasmLimits> } = {},
): Bench {
  const sent: Message[] = [];
  let now = 0;
  const session = new DuplexSession({
    limits: completeLimits(options.limits),
    grant: options.grant ?? (() => undefined),
    onForbidden: 'violation',
    port: {
      send: (message: OutgoingMessage) => void sent.push(readMessage(decodeMessagePack(encodeMessagePack(message)))),
      now: () => now,
      wake: () => {},
      broken: () => {},
    },
  });
  const advance = (milliseconds: number): unknown => {
    now += milliseconds;
    return session.check();
  };
  return { session, sent, advance };
}

describe('a session', () => {
  it('issues ids with a prefix per kind, each once', async () => {
    const { session, sent } = host();
    for (let round = 0; round < 2; round += 1) {
      void session.call('f', { in: createSink(), out: from([]), back: () => 1 }).catch(() => {});
    }
    session.notify('g', undefined);
    await Promise.resolve();
    expect(sent.filter(({ type }) => type === 0)).toEqual([
      { type: 0, id: 'c0', functionName: 'f', params: { in: 'r0', out: 's0', back: 'cb_0' } },
      { type: 0, id: 'c1', functionName: 'f', params: { in: 'r1', out: 's1', back: 'cb_1' } },
      { type: 0, id: 'c2', functionName: 'g', expectsResponse: false },
    ]);
  });

  it('keeps ids of the peer apart from its own', async () => {
    const { session, sent } = host({ grant: () => () => ({ ok: true, result: 'granted' }) });
    const call = session.call('f', undefined);
    // The peer may use the very id that this side has used: it lives in another namespace.
    session.receive({ type: 0, id: 'c0', functionName: 'x' }, 10);
    session.receive({ type: 1, id: 'c0', result: 'mine' }, 10);
    expect(await call).toBe('mine');
    expect(sent.at(-1)).toEqual({ type: 1, id: 'c0', result: 'granted' });
  });

  it('answers an expired callback and never a call that wants no answer', async () => {
    const { session, sent } = host();
    const call = session.call('f', [() => 'called']);
    session.receive({ type: 0, id: 'a', functionName: 'cb_0' }, 10);
    session.receive({ type: 0, id: 'b', functionName: 'cb_0', expectsResponse: false }, 10);
    session.receive({ type: 1, id: 'c0' }, 10);
    await call;
    session.receive({ type: 0, id: 'c', functionName: 'cb_0' }, 10);
    session.receive({ type: 0, id: 'd', functionName: 'cb_0', expectsResponse: false }, 10);
    expect(sent.slice(1)).toEqual([
      { type: 1, id: 'a', result: 'called' },
      { type: 2, id: 'c', error: 'callback expired' },
    ]);
    expect(() => session.receive({ type: 0, id: 'e', functionName: 'cb_1' }, 10)).toThrow(/not granted/);
    expect(() => session.receive({ type: 0, id: 'e', functionName: 'cb_00' }, 10)).toThrow(/not granted/);
  });

  it('receives a stream under an id that the peer chose, also what came before anybody asked', async () => {
    let seen: Promise<unknown[]> | undefined;
    const upload = async (call: IncomingCall): Promise<{ ok: true; result: string }> => {
      await new Promise((resolve) => setImmediate(resolve));
      seen = collect(call.receive('upload-1'));
      return { ok: true, result: 'started' };
    };
    const { session, sent } = host({ grant: () => upload });
    session.receive({ type: 0, id: 'a', functionName: 'upload', params: { stream: 'upload-1' } }, 10);
    session.receive({ type: 3, id: 'upload-1', chunk: 'early' }, 10);
    await expect.poll(() => sent).toHaveLength(1);
    session.receive({ type: 3, id: 'upload-1', chunk: 'late' }, 10);
    session.receive({ type: 4, id: 'upload-1' }, 10);
    expect(await seen).toEqual(['early', 'late']);
    expect(() => session.receive({ type: 3, id: 'upload-1', chunk: 1 }, 10)).toThrow(/never issued/);
  });

  it('stops reading when too much waits, and says which stream keeps the others waiting', async () => {
    const { session, advance } = host({ limits: { streamBufferBytes: 1_000, stallMs: 100 } });
    const sink = createSink();
    const call = session.call('f', sink);
    call.catch(() => {});
    expect(session.receive({ type: 3, id: 'r0', chunk: 1 }, 500)).toBeUndefined();
    const held = session.receive({ type: 3, id: 'r0', chunk: 2 }, 500);
    expect(held).toBeInstanceOf(Promise);
    expect(advance(50)).toBeUndefined();
    expect(advance(60)).toMatchObject({ code: 'WASM_STREAM_STALLED', facts: { stream: 'r0' } });
    const iterator = sink[Symbol.asyncIterator]();
    await iterator.next();
    await iterator.next();
    await held;
    expect(advance(1_000)).toBeUndefined();
  });

  it('counts what a chunk costs in the heap, not only on the wire', () => {
    const { session } = host({ limits: { streamBufferBytes: 10_000 } });
    session.call('f', createSink()).catch(() => {});
    const maps = Array.from({ length: 1_000 }, () => ({}));
    expect(session.receive({ type: 3, id: 'r0', chunk: maps }, 1_003)).toBeInstanceOf(Promise);
  });

  it('names the call that is late, and wakes for the earliest', () => {
    const { session, advance } = host();
    session.call('slow', undefined, { timeoutMs: 500 }).catch(() => {});
    session.call('quick', undefined, { timeoutMs: 100 }).catch(() => {});
    expect(advance(99)).toBeUndefined();
    expect(advance(1)).toMatchObject({ code: 'WASM_TIMEOUT', facts: { function: 'quick', call: 'c1', limitMs: 100 } });
  });

  it('gives everybody an error at its end and takes nothing afterwards', async () => {
    const { session, sent } = host();
    const sink = createSink();
    const call = failure(session.call('f', sink));
    session.end((waiting) => new Error(`gone: ${waiting}`));
    expect(await call).toMatchObject({ message: 'gone: f' });
    expect(await failure(collect(sink))).toMatchObject({ message: 'gone: r0' });
    expect(await failure(session.call('g', undefined))).toMatchObject({ message: 'gone: g' });
    expect(() => session.notify('h', undefined)).toThrow('gone: h');
    expect(session.receive({ type: 1, id: 'nope' }, 10)).toBeUndefined();
    expect(sent).toHaveLength(1);
    expect(session.load).toBe(0);
  });

  it('stops the streams of a call that fails', async () => {
    const { session, sent } = host();
    const sink = createSink();
    let returned = false;
    async function* endless(): AsyncGenerator<number> {
      try {
        for (let index = 0; ; index += 1) {
          await new Promise((resolve) => setImmediate(resolve));
          yield index;
        }
      } finally {
        returned = true;
      }
    }
    const call = failure(session.call('f', { sink, source: endless() }));
    await expect.poll(() => sent.length).toBeGreaterThan(2);
    session.receive({ type: 2, id: 'c0', error: 'no' }, 10);
    expect(await call).toMatchObject({ code: 'WASM_CALL_FAILED' });
    expect(sent.at(-1)).toEqual({ type: 5, id: 's0', error: 'the call failed' });
    await expect.poll(() => returned).toBe(true);
    expect(await failure(collect(sink))).toMatchObject({ code: 'WASM_CALL_FAILED' });
    // The guest does not know yet that nobody listens.
    expect(session.receive({ type: 3, id: 'r0', chunk: 1 }, 10)).toBeUndefined();
    session.receive({ type: 4, id: 'r0' }, 10);
  });
});

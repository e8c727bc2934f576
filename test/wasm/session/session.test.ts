import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { completeLimits, type WasmLimits } from '../../../src/wasm/limits.js';
import type { Message, OutgoingMessage } from '../../../src/wasm/messages.js';
import { readMessage } from '../../../src/wasm/messages.js';
import { DuplexSession } from '../../../src/wasm/session/session.js';
import { createSink } from '../../../src/wasm/session/sink.js';
import type { IncomingCall, SessionOptions } from '../../../src/wasm/session/types.js';
import { decodeMessagePack, encodeFrame } from '../../../src/wire/index.js';
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
  const limits = completeLimits(options.limits);
  const budget = { bytes: limits.frameBytes };
  const session = new DuplexSession({
    limits,
    grant: options.grant ?? (() => undefined),
    onForbidden: 'violation',
    port: {
      send: (message: OutgoingMessage) =>
        void sent.push(readMessage(decodeMessagePack(encodeFrame(message, budget).subarray(5)))),
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

  it('hands out a stream that was claimed after its end', async () => {
    const seen: unknown[] = [];
    const upload = async (call: IncomingCall): Promise<{ ok: true; result: number }> => {
      await new Promise((resolve) => setImmediate(resolve));
      seen.push(...(await collect(call.receive('u'))));
      return { ok: true, result: seen.length };
    };
    const { session, sent } = host({ grant: () => upload });
    session.receive({ type: 0, id: 'a', functionName: 'upload', params: { stream: 'u' } }, 10);
    session.receive({ type: 3, id: 'u', chunk: 1 }, 10);
    session.receive({ type: 3, id: 'u', chunk: 2 }, 10);
    session.receive({ type: 4, id: 'u' }, 10);
    await expect.poll(() => sent).toEqual([{ type: 1, id: 'a', result: 2 }]);
    expect(seen).toEqual([1, 2]);
  });

  it('throws away a stream that nobody claimed while its call ran', async () => {
    let finish = (): void => {};
    const grant = () => () =>
      new Promise<{ ok: true; result: undefined }>((resolve) => {
        finish = () => resolve({ ok: true, result: undefined });
      });
    const { session, sent, advance } = host({ grant, limits: { streamBufferBytes: 1_000 } });
    session.receive({ type: 0, id: 'a', functionName: 'f', params: ['ended', 'open'] }, 10);
    session.receive({ type: 3, id: 'ended', chunk: 1 }, 600);
    session.receive({ type: 4, id: 'ended' }, 10);
    const held = session.receive({ type: 3, id: 'open', chunk: 1 }, 600);
    expect(held).toBeInstanceOf(Promise);
    finish();
    await held;
    expect(sent).toHaveLength(1);
    // The guest does not know: what it goes on to send is discarded, and its silence is nobody's loss.
    expect(session.receive({ type: 3, id: 'open', chunk: 2 }, 600)).toBeUndefined();
    expect(advance(1_000_000)).toBeUndefined();
    expect(session.load).toBe(0);
    session.receive({ type: 4, id: 'open' }, 10);
    expect(() => session.receive({ type: 4, id: 'open' }, 10)).toThrow(/never issued/);
  });

  it('takes no second end and no chunk after the end of a stream that the peer announced', () => {
    const { session } = host({ grant: () => () => new Promise(() => {}) });
    session.receive({ type: 0, id: 'a', functionName: 'f', params: { x: 'u1', y: ['u2'] } }, 10);
    session.receive({ type: 4, id: 'u1' }, 10);
    expect(() => session.receive({ type: 4, id: 'u1' }, 10)).toThrow(/ended already/);
    session.receive({ type: 5, id: 'u2', error: 'no' }, 10);
    expect(() => session.receive({ type: 3, id: 'u2', chunk: 1 }, 10)).toThrow(/ended already/);
    expect(() => session.receive({ type: 3, id: 'x', chunk: 1 }, 10)).toThrow(/never issued/);
  });

  it('reads the parameters of a call once, however many streams they announce', () => {
    let reads = 0;
    const { session } = host({ grant: () => () => new Promise(() => {}) });
    const ids = Array.from({ length: 500 }, (_, index) => `u${index}`);
    const counted = new Proxy(ids, {
      ownKeys: (target) => {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    });
    session.receive({ type: 0, id: 'a', functionName: 'f', params: counted }, 10);
    for (const id of ids) session.receive({ type: 4, id }, 17);
    expect(reads).toBe(1);
  });

  it('stops reading when the calls of the peer that run hold too much, but not for one alone', async () => {
    const finish: (() => void)[] = [];
    const grant = () => () =>
      new Promise<{ ok: true; result: undefined }>((resolve) => {
        finish.push(() => resolve({ ok: true, result: undefined }));
      });
    const { session, advance } = host({ grant, limits: { callbackBytes: 1_000, stallMs: 100 } });
    const call = (id: string): void | Promise<void> => session.receive({ type: 0, id, functionName: 'f' }, 1_500);
    expect(call('a')).toBeUndefined();
    const held = call('b');
    expect(held).toBeInstanceOf(Promise);
    expect(advance(150)).toMatchObject({ code: 'WASM_STREAM_STALLED' });
    finish[0]?.();
    await held;
    expect(advance(150)).toBeUndefined();
    finish[1]?.();
    await new Promise((resolve) => setImmediate(resolve));
    expect(call('c')).toBeUndefined();
    const maps = Array.from({ length: 100 }, () => ({}));
    expect(session.receive({ type: 0, id: 'd', functionName: 'f', params: maps }, 103)).toBeInstanceOf(Promise);
  });

  it('answers with an error whatever is wrong with a result', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const throwing = {
      get x(): never {
        throw new TypeError('no x today');
      },
    };
    const grant = (name: string) => () => {
      const answer = { ok: true, result: name.endsWith('getter') ? throwing : proxy } as const;
      return name.startsWith('later') ? Promise.resolve(answer) : answer;
    };
    const { session, sent } = host({ grant, limits: { frameBytes: 500 } });
    void session
      .call('f', { back: () => proxy, thrown: () => Promise.reject(new Error('x'.repeat(1_000))) })
      .catch(() => {});
    for (const name of ['getter', 'proxy', 'later getter', 'later proxy', 'cb_0', 'cb_1']) {
      session.receive({ type: 0, id: name, functionName: name }, 10);
    }
    await expect.poll(() => sent).toHaveLength(7);
    const answers = new Map(sent.slice(1).map((message) => [message.id, message]));
    expect(answers.get('getter')).toMatchObject({ type: 2, error: 'no x today' });
    expect(answers.get('later getter')).toMatchObject({ type: 2, error: 'no x today' });
    for (const id of ['proxy', 'later proxy', 'cb_0']) expect(answers.get(id)).toMatchObject({ type: 2 });
    expect(answers.get('cb_1')).toMatchObject({ type: 2, error: 'the error cannot be sent' });
  });

  it('stops a source whose chunk cannot be sent, whatever is wrong with it', async () => {
    const { session, sent } = host();
    let returned = false;
    async function* source(): AsyncGenerator<unknown> {
      try {
        yield {
          get x(): never {
            throw new TypeError('no x today');
          },
        };
      } finally {
        returned = true;
      }
    }
    void session.call('f', { source: source() }).catch(() => {});
    await expect.poll(() => returned).toBe(true);
    expect(sent.at(-1)).toEqual({ type: 5, id: 's0', error: 'no x today' });
  });

  it('tells the sinks of a call that was not sent, and lets another call have them', async () => {
    const { session, sent } = host();
    const waiting = createSink();
    const late = createSink();
    const web = new WritableStream();
    const heard = failure(collect(waiting));
    const params = { waiting, late, web, wrong: new Map() };
    expect(await failure(session.call('f', params))).toMatchObject({ code: 'WASM_PARAMS_INVALID' });
    expect(await heard).toMatchObject({ code: 'WASM_PARAMS_INVALID' });
    expect(await failure(collect(late))).toMatchObject({ code: 'WASM_PARAMS_INVALID' });
    expect(web.locked).toBe(false);
    const call = session.call('f', { waiting, late, web });
    const ids = Object.values((sent.at(-1) as { params: Record<string, string> }).params);
    expect(ids).toHaveLength(3);
    const chunks = collect(waiting);
    session.receive({ type: 3, id: ids[0] ?? '', chunk: 7 }, 10);
    for (const id of ids) session.receive({ type: 4, id }, 10);
    expect(await chunks).toEqual([7]);
    session.receive({ type: 1, id: 'c1' }, 10);
    await call;
    const aborted = createSink();
    expect(await failure(session.call('f', [aborted], { signal: AbortSignal.abort() }))).toBeInstanceOf(Error);
    expect(await failure(collect(aborted))).toMatchObject({ code: 'WASM_CALL_ABORTED' });
  });

  it('throws away what comes for a call that failed while a chunk waited, and waits for no end', async () => {
    const { session, advance } = host({ limits: { streamBufferBytes: 1_000 } });
    const sink = createSink();
    const call = failure(session.call('f', sink));
    session.receive({ type: 3, id: 'r0', chunk: 'first' }, 100);
    session.receive({ type: 2, id: 'c0', error: 'no' }, 10);
    await call;
    expect(session.receive({ type: 3, id: 'r0', chunk: 'second' }, 5_000)).toBeUndefined();
    const iterator = sink[Symbol.asyncIterator]();
    expect(await iterator.next()).toEqual({ done: false, value: 'first' });
    expect(await failure(iterator.next())).toMatchObject({ code: 'WASM_CALL_FAILED' });
    expect(session.load).toBe(0);
    expect(advance(1_000_000)).toBeUndefined();
    session.receive({ type: 4, id: 'r0' }, 10);
    expect(() => session.receive({ type: 3, id: 'r0', chunk: 1 }, 10)).toThrow(/ended already/);
  });

  it('keeps none of the chunks that it has sent', async () => {
    const { session, sent } = host();
    const chunks: WeakRef<object>[] = [];
    async function* source(): AsyncGenerator<unknown> {
      for (let index = 0; index < 100; index += 1) {
        const chunk = { index };
        chunks.push(new WeakRef(chunk));
        yield chunk;
      }
      await new Promise(() => {});
    }
    void session.call('f', { source: source() }).catch(() => {});
    await expect.poll(() => sent.length).toBeGreaterThan(100);
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(chunks.filter((chunk) => chunk.deref() !== undefined).length).toBeLessThan(5);
  });
});

import { describe, expect, it } from 'vitest';
import type { ToolOutcome } from '../../../src/capabilities/index.js';
import { driveSession, type SessionRequest } from '../../../src/guest/host/drive-session.js';
import type { ExecutionEvent } from '../../../src/guest/host/events.js';
import { MAX_PENDING_TOOL_CALLS } from '../../../src/guest/limits.js';
import type { HostMessage, ToolCallMessage } from '../../../src/guest/messages.js';
import { memoryPair, type Transport } from '../../../src/wire/index.js';

type Far = Transport<HostMessage, unknown>;
interface Script {
  readonly send: (message: unknown) => void;
  readonly id: string;
  readonly far: Far;
}

const OPTIONS = { timeoutMs: 1_000, memoryLimitBytes: 1e6, maxLogLines: 3, maxLogChars: 20 };
const later = () => new Promise((resolve) => setImmediate(resolve));

/** Runs a session against a runner that does what the script says. */
function drive(onMessage: (message: HostMessage, script: Script) => void, more: Partial<SessionRequest> = {}) {
  const [near, far] = memoryPair<unknown, HostMessage>();
  const calls: ToolCallMessage[] = [];
  const heard: HostMessage[] = [];
  const events: ExecutionEvent[] = [];
  const script = { far, id: 'run', send: (message: unknown) => void far.send(message) };
  far.onMessage((message) => {
    heard.push(message);
    onMessage(message, script);
  });
  const ended = driveSession({
    transport: near,
    code: '1',
    manifests: [],
    options: OPTIONS,
    executionId: 'run',
    startTimeoutMs: 1_000,
    cancelGraceMs: 40,
    dispatch: async (call): Promise<ToolOutcome> => {
      calls.push(call);
      return { ok: true, result: null };
    },
    onEvent: (event) => events.push(event),
    ...more,
  });
  return { ended, calls, heard, events, far };
}

/** A runner that starts, and then sends these messages. */
const says =
  (...messages: unknown[]) =>
  (message: HostMessage, { send }: Script) => {
    if (message.type !== 'execute') return;
    send({ type: 'started', id: 'run' });
    for (const each of messages) send(each);
  };
const done = (more: object) => ({ type: 'done', id: 'run', durationMs: 1, logs: [], ...more });
const call = (callId: string, more: object = {}) => ({
  type: 'tool_call',
  callId,
  providerName: 'p',
  safeToolName: 't',
  ...more,
});

describe('a session with an honest runner', () => {
  it('ends with its result, measured by our own clock', async () => {
    const { ended, events } = drive(
      says(call('1'), done({ ok: true, result: { a: [1] }, logs: ['x'], durationMs: 1e9 })),
    );
    const { result, reusable } = await ended;
    expect(reusable).toBe(true);
    expect(result).toMatchObject({ ok: true, result: { a: [1] }, logs: ['x'] });
    expect(result.durationMs).toBeLessThan(60_000);
    expect(events.slice(0, 2)).toMatchObject([
      { type: 'started' },
      { type: 'tool_call', callId: '1', safeToolName: 't' },
    ]);
    expect(events.at(-1)).toMatchObject({ type: 'done', result });
  });

  it('sends execute once, with everything the runner needs', async () => {
    const { ended, heard } = drive(says(done({ ok: true })));
    await ended;
    expect(heard).toEqual([{ type: 'execute', id: 'run', code: '1', options: OPTIONS, providers: [] }]);
  });

  it('accepts a failure before started: the runner did not take it', async () => {
    const { ended } = drive((message, { send }) => {
      if (message.type === 'execute') send(done({ ok: false, error: { code: 'validation_error', message: 'no' } }));
    });
    expect(await ended).toMatchObject({
      reusable: true,
      result: { error: { code: 'validation_error', message: 'no' } },
    });
  });

  it('answers a call without input, and leaves an undefined result out', async () => {
    const { ended, heard } = drive(
      (message, { send }) => {
        if (message.type === 'execute') {
          send({ type: 'started', id: 'run' });
          send(call('1'));
        } else if (message.type === 'tool_result') send(done({ ok: true }));
      },
      { dispatch: async () => ({ ok: true, result: undefined }) },
    );
    await ended;
    expect(heard[1]).toEqual({ type: 'tool_result', callId: '1', ok: true });
  });
});

describe('a runner that lies', () => {
  const LIES: readonly [what: string, messages: readonly unknown[], reason: RegExp][] = [
    ['uses a callId twice', [call('1'), call('1')], /used twice/],
    ['says started twice', [{ type: 'started', id: 'run' }], /second started/],
    [
      'uses an unknown error code',
      [done({ ok: false, error: { code: 'root_granted', message: 'm' } })],
      /root_granted/,
    ],
    [
      'sends a result and an error',
      [done({ ok: true, result: 1, error: { code: 'timeout', message: 'm' } })],
      /error must be absent/,
    ],
    ['fails without an error', [done({ ok: false })], /error must be there/],
    ['sends logs that are no strings', [done({ ok: true, logs: [{}] })], /logs/],
    ['sends a message of an unknown kind', [{ type: 'give_me_root', id: 'run' }], /unknown message type/],
    ['sends what is no message', ['garbage'], /must be an object/],
    ['sends null', [null], /must be an object/],
    ['calls without names', [{ type: 'tool_call', callId: '1' }], /providerName/],
    ['uses a callId of a megabyte', [call('x'.repeat(1e6))], /callId/],
  ];
  for (const [what, messages, reason] of LIES) {
    it(`and ${what} is not used again`, async () => {
      const { result, reusable } = await drive(says(...messages)).ended;
      expect(reusable).toBe(false);
      expect(result).toMatchObject({
        ok: false,
        error: { code: 'internal_error', message: expect.stringMatching(reason) },
      });
    });
  }

  it('runs no tool twice for one callId', async () => {
    const { ended, calls } = drive(says(call('1'), call('1'), call('1')));
    await ended;
    expect(calls).toHaveLength(1);
  });

  it('and calls a tool before started runs none', async () => {
    const { ended, calls } = drive((message, { send }) => {
      if (message.type === 'execute') send(call('1'));
    });
    expect(await ended).toMatchObject({ reusable: false, result: { error: { code: 'internal_error' } } });
    expect(calls).toEqual([]);
  });

  it('and is done before started is not believed', async () => {
    const { ended } = drive((message, { send }) => {
      if (message.type === 'execute') send(done({ ok: true, result: 'free' }));
    });
    expect(await ended).toMatchObject({ reusable: false, result: { error: { code: 'internal_error' } } });
  });

  const UNSAFE: readonly [unknown, string][] = [
    [{ a: { when: new Date(0) } }, 'result.a.when: Date'],
    [new Map(), 'result: Map'],
    [Number.NaN, 'result: NaN'],
    [10n, 'result: bigint'],
    [[undefined], 'result[0]'],
    [
      Object.defineProperty({}, 'x', {
        enumerable: true,
        get: () => {
          throw new Error('ran');
        },
      }),
      'result.x: accessor',
    ],
    [new Proxy({}, {}), 'result: Proxy'],
  ];
  for (const [value, message] of UNSAFE) {
    it(`and forges a result that cannot travel gets serialization_error: ${message}`, async () => {
      const { result } = await drive(says(done({ ok: true, result: value }))).ended;
      expect(result).toMatchObject({ ok: false, error: { code: 'serialization_error' } });
      expect(!result.ok && result.error.message).toContain(message);
    });
  }

  it('has its __proto__ key kept as an own property', async () => {
    const { result } = await drive(says(done({ ok: true, result: JSON.parse('{"__proto__":{"x":1}}') }))).ended;
    expect(result.ok && Object.hasOwn(result.result as object, '__proto__')).toBe(true);
    expect(({} as { x?: number }).x).toBeUndefined();
  });

  it('has the log limits applied again, to done and to what it streams', async () => {
    const flood = Array.from({ length: 1_000 }, (_, i) => ({ type: 'log', id: 'run', line: `line ${i}` }));
    const { ended, events } = drive(says(...flood, done({ ok: true, logs: Array(1_000).fill('0123456789') })));
    expect((await ended).result.logs).toEqual(['0123456789', '0123456789']);
    expect(events.filter((event) => event.type === 'log')).toHaveLength(3);
  });

  it('has messages with other ids ignored', async () => {
    const { ended } = drive(
      says(
        { type: 'started', id: 'other' },
        { type: 'done', id: 'other', ok: true, durationMs: 0, logs: [], result: 'wrong' },
        { type: 'done', id: 'other', nonsense: true },
        { type: 'log', id: 'other', line: 'wrong' },
        done({ ok: true, result: 'right' }),
      ),
    );
    expect(await ended).toMatchObject({ reusable: true, result: { ok: true, result: 'right', logs: [] } });
  });

  it('and starts more calls than may be in flight is cut off', async () => {
    let running = 0;
    const flood = Array.from({ length: MAX_PENDING_TOOL_CALLS + 5 }, (_, i) => call(`c${i}`));
    const { ended } = drive(says(...flood), {
      dispatch: () => {
        running += 1;
        return new Promise(() => {});
      },
    });
    expect(await ended).toMatchObject({ reusable: false, result: { error: { code: 'internal_error' } } });
    expect(running).toBe(MAX_PENDING_TOOL_CALLS);
  });

  it('sends an error without end has its message and stack cut', async () => {
    const error = { code: 'runtime_error', message: 'x'.repeat(1e6), stack: 'x'.repeat(1e6), line: 2 };
    const { result } = await drive(says(done({ ok: false, error }))).ended;
    expect(!result.ok && result.error.message.length).toBeLessThan(20_000);
    expect(!result.ok && result.error.stack?.length).toBeLessThan(20_000);
    expect(result).toMatchObject({ error: { line: 2 } });
  });

  it('and sends more input than may be in flight is cut off', async () => {
    const input = 'x'.repeat(12 * 1024 * 1024);
    const { ended, calls } = drive(says(...['1', '2', '3'].map((id) => call(id, { input }))), {
      dispatch: (message) => {
        calls.push(message);
        return new Promise(() => {});
      },
    });
    const { result, reusable } = await ended;
    expect(reusable).toBe(false);
    expect(result).toMatchObject({ error: { code: 'internal_error', message: expect.stringContaining('tool input') } });
    expect(calls).toHaveLength(2);
  });

  it('says something after done has it ignored', async () => {
    const { ended, calls } = drive(says(done({ ok: true, result: 1 }), done({ ok: true, result: 2 }), call('late')));
    expect(await ended).toMatchObject({ result: { result: 1 } });
    await later();
    expect(calls).toEqual([]);
  });
});

describe('a runner that is silent', () => {
  it('before started is given up after its time to start', async () => {
    const { result, reusable } = await drive(() => {}, { startTimeoutMs: 30 }).ended;
    expect(reusable).toBe(false);
    expect(result).toMatchObject({
      error: { code: 'internal_error', message: expect.stringContaining('did not start') },
    });
  });

  it('after started is cancelled after the time limit, and ends as a timeout with the logs it streamed', async () => {
    const { ended, heard } = drive(says({ type: 'log', id: 'run', line: 'kept' }), {
      options: { ...OPTIONS, timeoutMs: 30 },
    });
    expect(await ended).toMatchObject({
      reusable: false,
      result: { ok: false, error: { code: 'timeout' }, logs: ['kept'] },
    });
    expect(heard.at(-1)).toEqual({ type: 'cancel', id: 'run' });
  });

  it('and closes before done is a failure with the reason', async () => {
    const { result, reusable } = await drive((message, { send, far }) => {
      if (message.type !== 'execute') return;
      send({ type: 'started', id: 'run' });
      setImmediate(() => far.close('out of order'));
    }).ended;
    expect(reusable).toBe(false);
    expect(result).toMatchObject({
      error: { code: 'internal_error', message: expect.stringContaining('out of order') },
    });
  });

  it('and was closed from the start is a failure too', async () => {
    const [near, far] = memoryPair<unknown, HostMessage>();
    far.close('gone');
    await later();
    const { result } = await driveSession({
      transport: near,
      code: '1',
      manifests: [],
      options: OPTIONS,
      dispatch: async () => ({ ok: true, result: null }),
    });
    expect(result).toMatchObject({ ok: false, error: { code: 'internal_error' } });
  });
});

describe('a cancelled session', () => {
  /** Aborts once the runner has started. */
  const aborting = (onMessage: Parameters<typeof drive>[0], more: Partial<SessionRequest> = {}) => {
    const abort = new AbortController();
    const onEvent = (event: ExecutionEvent) => {
      if (event.type === 'started') setImmediate(() => abort.abort());
    };
    return drive(onMessage, { signal: abort.signal, onEvent, ...more });
  };

  it('ends as a timeout even when a late done says that all went well', async () => {
    const { ended } = aborting((message, script) => {
      if (message.type === 'execute') script.send({ type: 'started', id: 'run' });
      if (message.type === 'cancel') script.send(done({ ok: true, result: 'late', logs: ['kept'] }));
    });
    expect(await ended).toMatchObject({
      reusable: true,
      result: { ok: false, error: { code: 'timeout' }, logs: ['kept'] },
    });
  });

  it('ends as a timeout when the runner does not answer within the grace, or goes away', async () => {
    expect(await aborting(says()).ended).toMatchObject({ reusable: false, result: { error: { code: 'timeout' } } });
    const { ended } = aborting((message, { send, far }) => {
      if (message.type === 'execute') send({ type: 'started', id: 'run' });
      if (message.type === 'cancel') far.close();
    });
    expect(await ended).toMatchObject({ reusable: false, result: { error: { code: 'timeout' } } });
  });

  it('fires the signal of every running tool, and sends no result of theirs', async () => {
    let aborted = 0;
    const { ended, heard } = aborting(says(call('1'), call('2')), {
      dispatch: (_call, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            aborted += 1;
            resolve({ ok: true, result: null });
          });
        }),
    });
    await ended;
    expect(aborted).toBe(2);
    expect(heard.map((message) => message.type)).toEqual(['execute', 'cancel']);
  });

  it('runs no tool that is asked for after the cancel', async () => {
    const { ended, calls } = aborting((message, { send }) => {
      if (message.type === 'execute') send({ type: 'started', id: 'run' });
      if (message.type === 'cancel') {
        send(call('late'));
        send(done({ ok: false, error: { code: 'timeout', message: 'x' } }));
      }
    });
    await ended;
    expect(calls).toEqual([]);
  });

  it('that was aborted before it began sends cancel at once', async () => {
    const { ended, heard } = drive(
      (message, { send }) => {
        if (message.type === 'cancel') send(done({ ok: false, error: { code: 'timeout', message: 'x' } }));
      },
      { signal: AbortSignal.abort() },
    );
    expect(await ended).toMatchObject({ result: { error: { code: 'timeout' } } });
    expect(heard.map((message) => message.type)).toEqual(['execute', 'cancel']);
  });

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    let listeners = 0;
    const counted = new Proxy(signal, {
      get: (target, key) => {
        if (key === 'addEventListener') listeners += 1;
        if (key === 'removeEventListener') listeners -= 1;
        const value: unknown = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
    await drive(says(done({ ok: true })), { signal: counted }).ended;
    expect(listeners).toBe(0);
  });
});

describe('the end of a session', () => {
  it('fires the signal of tools that still run', async () => {
    const fired = new Promise<void>((resolve) => {
      const { ended } = drive(says(call('1'), done({ ok: true })), {
        dispatch: (_call, signal) => new Promise(() => signal.addEventListener('abort', () => resolve())),
      });
      void ended;
    });
    await fired;
  });

  it('comes also when the listener of events throws', async () => {
    const { ended } = drive(says(done({ ok: true, result: 1 })), {
      onEvent: () => {
        throw new Error('listener');
      },
    });
    expect(await ended).toMatchObject({ result: { ok: true, result: 1 } });
  });
});

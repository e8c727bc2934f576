import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { attachRunner, createRemoteExecutor, type ExecutionEvent, runSession } from '../../../src/guest/index.js';
import { listenWebSocket, memoryPair, type WebSocketListener, webSocketTransport } from '../../../src/wire/index.js';
import { TOOLS } from '../programs.js';

const TOKEN = 'a-long-enough-secret';
let listener: WebSocketListener;
let served = 0;
beforeAll(async () => {
  listener = await listenWebSocket({ host: '127.0.0.1', port: 0, token: TOKEN }, (socket) => {
    served += 1;
    attachRunner(webSocketTransport(socket), { isolation: 'inline' });
  });
});
afterAll(() => listener.close());

/** A listener whose runner does what it likes with the socket. */
async function rogue(onMessage: (message: { type: string; id: string }, socket: WebSocket) => void) {
  return listenWebSocket({ host: '127.0.0.1', port: 0, token: undefined }, (socket) => {
    socket.on('message', (data) => onMessage(JSON.parse(String(data)), socket));
  });
}

describe('a remote executor', () => {
  it('runs over a fresh connection per execution, with tools and events', async () => {
    const executor = createRemoteExecutor({ url: listener.url, token: TOKEN });
    const events: string[] = [];
    const onEvent = (event: ExecutionEvent) => void events.push(event.type);
    const before = served;
    expect(await executor.execute('console.log("x"); (await tools.echo(20)) + 1', TOOLS, { onEvent })).toMatchObject({
      ok: true,
      result: 21,
      logs: ['x'],
    });
    expect(await executor.execute('throw new Error("x")')).toMatchObject({
      ok: false,
      error: { code: 'runtime_error' },
    });
    expect(served - before).toBe(2);
    expect(events).toEqual(['started', 'log', 'tool_call', 'tool_result', 'done']);
    expect(executor.stats()).toMatchObject({ executions: 2, failures: 1, busy: 0 });
    await executor.dispose();
    expect(await executor.execute('1')).toMatchObject({ error: { code: 'internal_error' } });
  });

  it('runs many at once', async () => {
    const executor = createRemoteExecutor({ url: listener.url, token: TOKEN });
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, n) => executor.execute(`(await tools.echo(${n})) * 2`, TOOLS)),
    );
    expect(results.map((result) => result.ok && result.result)).toEqual(Array.from({ length: 10 }, (_, n) => n * 2));
    await executor.dispose();
  });

  it('leaves no connection open', async () => {
    await expect.poll(() => listener.connections).toBe(0);
  });

  it('leaves no listener on its own signal', async () => {
    const executor = createRemoteExecutor({
      connect: async () => {
        const [near, far] = memoryPair<unknown, unknown>();
        attachRunner(far, { isolation: 'inline' });
        return near;
      },
    });
    const added = vi.spyOn(AbortSignal.prototype, 'addEventListener');
    const removed = vi.spyOn(AbortSignal.prototype, 'removeEventListener');
    expect(await executor.execute('1')).toMatchObject({ ok: true });
    // What was added to the signal that lives as long as the executor was removed from it.
    const own = added.mock.contexts[0];
    const counted = (spy: typeof added | typeof removed) => spy.mock.contexts.filter((signal) => signal === own).length;
    expect(counted(added)).toBeGreaterThan(0);
    expect(counted(removed)).toBe(counted(added));
    vi.restoreAllMocks();
    await executor.dispose();
  });

  it('says why no runner could be reached', async () => {
    for (const options of [
      { url: listener.url },
      { url: listener.url, token: 'wrong' },
      { url: 'ws://127.0.0.1:1' },
      { url: 'nonsense' },
    ]) {
      const executor = createRemoteExecutor(options);
      expect(await executor.execute('1')).toMatchObject({
        ok: false,
        error: { code: 'internal_error', message: expect.stringMatching(/^no runner could be reached: ./) },
      });
      await executor.dispose();
    }
    const silent = createRemoteExecutor({ connect: () => Promise.reject(new Error('not today')) });
    expect(await silent.execute('1')).toMatchObject({ error: { message: expect.stringContaining('not today') } });
  });

  it('reacts to its signal while it connects', async () => {
    const abort = new AbortController();
    const executor = createRemoteExecutor({
      connect: (signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted')))),
    });
    const running = executor.execute('1', [], { signal: abort.signal });
    abort.abort();
    expect(await running).toMatchObject({ ok: false, error: { code: 'timeout' } });
  });

  it('says that the far side went away', async () => {
    const far = await rogue(({ id }, socket) => {
      socket.send(JSON.stringify({ type: 'started', id }));
      setImmediate(() => socket.terminate());
    });
    const executor = createRemoteExecutor({ url: far.url });
    expect(await executor.execute('1')).toMatchObject({
      error: { code: 'internal_error', message: expect.stringContaining('went away') },
    });
    await executor.dispose();
    await far.close();
  });

  it('gives up on a runner that does not start, does not end, or talks nonsense', async () => {
    const silent = await rogue(() => {});
    const one = createRemoteExecutor({ url: silent.url, startTimeoutMs: 50 });
    expect(await one.execute('1')).toMatchObject({
      error: { code: 'internal_error', message: expect.stringContaining('did not start') },
    });
    await silent.close();

    const endless = await rogue(({ type, id }, socket) => {
      if (type === 'execute') socket.send(JSON.stringify({ type: 'started', id }));
    });
    const two = createRemoteExecutor({ url: endless.url, cancelGraceMs: 40 });
    expect(await two.execute('1', [], { timeoutMs: 30 })).toMatchObject({ error: { code: 'timeout' } });
    await endless.close();

    const nonsense = await rogue((_message, socket) => socket.send('{"half a line'));
    const three = createRemoteExecutor({ url: nonsense.url });
    expect(await three.execute('1')).toMatchObject({ error: { code: 'internal_error' } });
    await nonsense.close();
  });

  it('ends what runs when it is disposed in a hurry', async () => {
    const executor = createRemoteExecutor({ url: listener.url, token: TOKEN });
    const running = executor.execute('await tools.never()', TOOLS, {
      onEvent: (event) => event.type === 'tool_call' && void executor.dispose({ mode: 'abort' }),
    });
    expect(await running).toMatchObject({ ok: false, error: { code: 'timeout' } });
  });

  it('wants an address or a way to connect, not both', () => {
    expect(() => createRemoteExecutor({})).toThrow(TypeError);
    expect(() => createRemoteExecutor({ url: 'ws://a', connect: () => Promise.reject(new Error('x')) })).toThrow(
      TypeError,
    );
  });
});

describe('runSession', () => {
  it('drives a runner over a transport of the caller, again and again', async () => {
    const [near, far] = memoryPair<unknown, unknown>();
    const runner = attachRunner(far, { isolation: 'inline' });
    for (const n of [1, 2, 3]) {
      expect(
        await runSession({ transport: near, code: `(await tools.echo(${n})) + 1`, providers: TOOLS }),
      ).toMatchObject({ ok: true, result: n + 1 });
    }
    await runner.dispose();
    expect(await runSession({ transport: near, code: '1' })).toMatchObject({
      ok: false,
      error: { code: 'internal_error' },
    });
  });

  it('is answered by a runner whose watcher fails', async () => {
    const [near, far] = memoryPair<unknown, unknown>();
    const runner = attachRunner(far, {
      isolation: 'inline',
      onExecution: () => ({
        accept: true,
        onEvent: () => {
          throw new Error('the watcher fails');
        },
      }),
    });
    for (const n of [1, 2]) {
      expect(await runSession({ transport: near, code: `${n} + 1` })).toMatchObject({ ok: true, result: n + 1 });
    }
    await runner.dispose();
  });

  it('refuses what cannot be run before it says a word', async () => {
    const [near, far] = memoryPair<unknown, unknown>();
    let heard = 0;
    far.onMessage(() => {
      heard += 1;
    });
    expect(await runSession({ transport: near, code: '1', timeoutMs: -1 })).toMatchObject({
      error: { code: 'validation_error' },
    });
    expect(heard).toBe(0);
  });
});

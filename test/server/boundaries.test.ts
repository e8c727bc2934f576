import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defineTools } from '../../src/capabilities/index.js';
import { createRemoteExecutor } from '../../src/guest/index.js';
import { ExecClient } from '../../src/process/index.js';
import { decodeMessagePack, encodeFrame, openWebSocket, webSocketTransport } from '../../src/wire/index.js';
import { here } from '../sandbox/container/rooms.js';
import { C_MODULES, eventsOf, hashKey, opened, start, until, ZIG_MODULES } from './start.js';

const weather = defineTools('weather', { temperature: async () => 21 });

describe('POST /run', () => {
  it('runs a program with the tools of the server, and returns its result', async () => {
    const { json } = await start({ providers: [weather] });
    const { status, body } = await json('/run', {
      code: 'console.log("hi"); return await weather.temperature({}) * 2',
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ ok: true, result: 42, logs: ['hi'], executionId: expect.any(String) });
  });

  it('tells logs and tool calls as they happen to who asks for events', async () => {
    const { url } = await start({ providers: [weather] });
    const response = await fetch(`${url}/run`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ code: 'console.log("a"); await weather.temperature({}); return 1' }),
    });
    expect(response.headers.get('content-type')).toContain('text/event-stream');
    const events = eventsOf(await response.text());
    expect(events.map(({ event }) => event)).toEqual(['started', 'log', 'tool_call', 'tool_result', 'result']);
    expect(events.at(-1)?.data).toMatchObject({ ok: true, result: 1 });
  });

  it('answers a program that fails with a result, and a request that is none with 400', async () => {
    const { json } = await start();
    expect((await json('/run', { code: 'throw new Error("no")' })).body).toMatchObject({
      ok: false,
      error: { code: 'runtime_error' },
    });
    expect((await json('/run', { code: 'while (true) {}', timeoutMs: 100 })).body).toMatchObject({
      ok: false,
      error: { code: 'timeout' },
    });
    for (const body of [{}, { code: 1 }, { code: '1', extra: 1 }, '[1', 'null', '"x"']) {
      const answer = await json('/run', body);
      expect(answer.status, JSON.stringify(body)).toBe(400);
      expect(answer.body.error.code).toBe('INVALID_REQUEST');
    }
  });

  it('gives the declarations of the tools', async () => {
    const { json } = await start({ providers: [weather] });
    const { status, body } = await json('/run/types');
    expect(status).toBe(200);
    expect(body).toContain('temperature');
  });
});

describe('WS /guest', () => {
  it('is a runner that an executor elsewhere can use', async () => {
    const { url, server } = await start();
    const executor = createRemoteExecutor({
      connect: async () =>
        webSocketTransport(await openWebSocket(`${url.replace('http', 'ws')}/guest`), { budget: { bytes: 1 << 20 } }),
    });
    const result = await executor.execute('return await weather.temperature({})', weather);
    expect(result).toMatchObject({ ok: true, result: 21 });
    await executor.dispose();
    const [record] = server.trail.page({ kind: 'guest' }, 1).executions;
    expect(record).toMatchObject({
      via: 'WS /guest',
      status: 'succeeded',
      capabilities: [{ type: 'tool', name: 'weather.temperature', outcome: 'ok' }],
    });
  });
});

describe('WS /exec', () => {
  it('knows a session only to the key that opened it', async () => {
    const tokens = { alice: 'the-key-of-alice-is-long', bob: 'the-key-of-bob-is-long-too' };
    const keys = Object.entries(tokens).map(([name, token]) => ({ name, hash: hashKey(token) }));
    const { url } = await start({ keys });
    const initialize = async (token: string, resumeSessionId: string | null) => {
      const socket = await opened(url, '/exec', { authorization: `Bearer ${token}` });
      socket.send(JSON.stringify({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId } }));
      const answer = (await until(socket, ({ id }) => id === 1)).at(-1);
      return { socket, answer };
    };
    const first = await initialize(tokens.alice, null);
    const { sessionId } = first.answer.result;
    first.socket.close();
    await once(first.socket, 'close');
    const foreign = await initialize(tokens.bob, sessionId);
    expect(foreign.answer.error).toMatchObject({ code: -32600, message: expect.stringContaining('unknown session') });
    await expect.poll(async () => (await initialize(tokens.alice, sessionId)).answer.result?.sessionId).toBe(sessionId);
  });

  it('runs commands in both dialects', async () => {
    const { url, server } = await start();
    const client = await ExecClient.connectWebSocket(`${url.replace('http', 'ws')}/exec`);
    const process = await client.start({ argv: ['/bin/sh', '-c', 'echo out; exit 3'], cwd: '/' });
    expect((await process.wait()).exitCode).toBe(3);
    await client.close();
    const socket = await opened(url, '/exec');
    const answers = until(socket, ({ method }) => method === 'process/exited' || method === 'exec/exited');
    socket.send(JSON.stringify({ id: 1, method: 'initialize', params: { clientName: 'test' } }));
    socket.send(JSON.stringify({ method: 'initialized' }));
    const params = { processId: 'p', argv: ['/bin/echo', 'hi'], cwd: '/', env: {}, tty: false };
    socket.send(JSON.stringify({ id: 2, method: 'process/start', params }));
    expect(JSON.stringify(await answers)).toContain(Buffer.from('hi\n').toString('base64'));
    const records = server.trail.page({ kind: 'process' }, 10).executions;
    expect(records.map(({ outcome }) => outcome?.code)).toEqual(['exit 0', 'exit 3']);
    expect(records[1]?.label).toBe('/bin/sh (2 arguments)');
  });
});

describe('Wasm modules', () => {
  it('are called with JSON, one guest per call', async () => {
    const { json } = await start({ wasmDir: C_MODULES });
    expect((await json('/wasm')).body.modules).toContain('guest');
    expect((await json('/wasm/guest/add', [1, 2])).body).toMatchObject({ ok: true, result: 3 });
    expect((await json('/wasm/guest/logEvent', {})).body).toMatchObject({ ok: true, result: 1 });
    // Another call finds another guest: nothing is left of the first.
    expect((await json('/wasm/guest/logEvent', {})).body).toMatchObject({ ok: true, result: 1 });
    expect((await json('/wasm/guest/nothing', {})).body).toMatchObject({
      ok: false,
      error: { code: 'WASM_CALL_FAILED' },
    });
    expect((await json('/wasm/unknown/add', [])).status).toBe(404);
    expect((await json('/wasm/..%2fguest/add', [])).status).toBe(404);
    expect((await json('/wasm/guest/sleep?timeoutMs=200', 60_000)).body).toMatchObject({
      ok: false,
      error: { code: 'WASM_TIMEOUT' },
    });
  });

  it('stream as events, or into the answer', async () => {
    const { url, json } = await start({ wasmDir: C_MODULES });
    const params = { count: 3, size: 4, stream: { $sink: 'numbers' } };
    const whole = await json('/wasm/guest/produce', params);
    expect(whole.body).toMatchObject({ ok: true, streams: { numbers: expect.any(Array) } });
    const { numbers } = whole.body.streams;
    expect(numbers).toHaveLength(3);
    const response = await fetch(`${url}/wasm/guest/produce`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify(params),
    });
    const events = eventsOf(await response.text());
    expect(events.map(({ event }) => event)).toEqual(['chunk', 'chunk', 'chunk', 'end', 'result']);
    expect(events.slice(0, 3).map(({ data }) => data.chunk)).toEqual(numbers);
    const consumed = await json('/wasm/guest/consume', { stream: { $stream: [1, 2, 3] } });
    expect(consumed.body).toMatchObject({ ok: true, result: [3, 6] });
  });

  it.each(['text/event-stream', 'application/json'])(
    'end with their client, also after the answer of the guest: %s',
    async (accept) => {
      const { url, server } = await start({ wasmDir: C_MODULES });
      const client = new AbortController();
      // The guest answers at once, and never says another word about the stream.
      const asked = fetch(`${url}/wasm/guest/echo`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept },
        body: JSON.stringify({ stream: { $sink: 'silence' } }),
        signal: client.signal,
      }).then((response) => response.text());
      asked.catch(() => {});
      await expect.poll(() => server.trail.page({ kind: 'wasm' }, 1).executions[0]?.status).toBe('running');
      await new Promise((resolve) => setTimeout(resolve, 500));
      client.abort();
      const [record] = server.trail.page({ kind: 'wasm' }, 1).executions;
      const execution = server.trail.find(record!.executionId)!;
      await execution.done;
      expect(execution.record()).toMatchObject({ status: 'cancelled' });
    },
  );

  it('speak their own bytes over a WebSocket, a guest per connection', async () => {
    const { url, server } = await start({ wasmDir: C_MODULES });
    const socket = await opened(url, '/wasm/guest');
    const answered = new Promise<Buffer>((resolve) => socket.once('message', (data: Buffer) => resolve(data)));
    socket.send(encodeFrame({ type: 0, id: 'c1', functionName: 'add', params: [2, 3] }));
    const frame = await answered;
    expect(decodeMessagePack(frame.subarray(5))).toMatchObject({ id: 'c1', result: 5 });
    const [record] = server.trail.page({ kind: 'wasm' }, 1).executions;
    expect(record).toMatchObject({ via: 'WS /wasm', status: 'running', capabilityCounts: { process: 1 } });
    const ended = server.trail.find(record!.executionId)!.done;
    socket.close();
    await ended;
    expect(await import('./start.js').then(({ connect }) => connect(url, '/wasm/unknown'))).toBe(404);
  });

  it.each(['hang up', 'cancel'])('end a guest that does not read when its client is gone: %s', async (how) => {
    const { url, server } = await start({ wasmDir: ZIG_MODULES, limits: { wasmGuests: 1, socketIdleMs: 400 } });
    const socket = await opened(url, '/wasm/guest');
    socket.send(encodeFrame({ type: 0, id: 'c1', functionName: 'sleep', params: 60_000 }));
    for (let index = 0; index < 16; index += 1) socket.send(new Uint8Array(256 * 1024));
    await expect.poll(() => server.trail.page({ kind: 'wasm' }, 1).executions[0]?.status).toBe('running');
    const [record] = server.trail.page({ kind: 'wasm' }, 1).executions;
    const execution = server.trail.find(record!.executionId)!;
    // Until the pipe to the guest is full, and the connection is held up.
    await new Promise((resolve) => setTimeout(resolve, 500));
    if (how === 'cancel') execution.cancel();
    else socket.terminate();
    await execution.done;
    expect(execution.record().status).toBe(how === 'cancel' ? 'cancelled' : 'succeeded');
    // Its place is free again, once it is gone.
    const next = async (): Promise<number> => {
      const other = await opened(url, '/wasm/guest');
      other.send(encodeFrame({ type: 0, id: 'c1', functionName: 'add', params: [2, 3] }));
      return Promise.race([once(other, 'message').then(() => 1), once(other, 'close').then(() => 0)]);
    };
    await expect.poll(next).toBe(1);
  });
});

describe('a Wasm guest that never reads', () => {
  const deaf = encodeFrame({ type: 0, id: 'c1', functionName: 'misbehave', params: 'deaf' });

  it('ends with its connection, and when it is cancelled, whatever was still to be read', async () => {
    for (const how of ['hang up', 'cancel'] as const) {
      // A peer that is gone is found out by a ping while its input is held back.
      const { url, server, json } = await start({ wasmDir: C_MODULES, limits: { socketIdleMs: 400 } });
      const received = async (): Promise<number> =>
        Number(/^sallyport_network_bytes\{direction="in"\} (\d+)/m.exec((await json('/metrics')).body)?.[1]);
      const socket = await opened(url, '/wasm/misbehave');
      socket.send(deaf);
      // More than its pipe holds, in many messages.
      for (let count = 0; count < 512; count += 1) socket.send(Buffer.alloc(1024));
      await expect.poll(received).toBeGreaterThan(128 * 1024);
      const [execution] = server.trail.running;
      expect(execution).toBeDefined();
      if (how === 'hang up') socket.terminate();
      else execution?.cancel();
      await execution?.done;
    }
  });
});

describe('tools', () => {
  it('are served at both places, with one resource for the executions of all boundaries', async () => {
    const { json } = await start();
    for (const prefix of ['', '/api']) {
      expect((await json(`${prefix}/health`)).body.status).toBe('ok');
      expect((await json(`${prefix}/info`)).body.capabilities.isolation).toBe(here.available ? 'container' : 'process');
      const refused = await json(`${prefix}/execute-tool`, { packageName: '../evil', name: 'x' });
      expect(refused.status).toBe(400);
    }
    const { executionId } = (await json('/run', { code: 'return 1' })).body;
    expect((await json(`/executions/${executionId}`)).body).toMatchObject({
      success: true,
      executionId,
      kind: 'guest',
      status: 'succeeded',
    });
    expect((await json('/executions/none')).status).toBe(404);
  });
});

describe('a folder of modules', () => {
  it('offers only files that are named like modules', async () => {
    const folder = join((await import('./start.js')).scratch(), 'modules');
    mkdirSync(folder);
    writeFileSync(join(folder, 'broken.wasm'), 'no module');
    writeFileSync(join(folder, 'notes.txt'), '');
    const { json } = await start({ wasmDir: folder });
    expect((await json('/wasm')).body).toEqual({ modules: ['broken'] });
    expect((await json('/wasm/broken/f', {})).body).toMatchObject({
      ok: false,
      error: { code: 'WASM_MODULE_INVALID' },
    });
  });
});

import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { isSallyportError } from '../../src/errors/index.js';
import type { CloseReason, Transport } from '../../src/wire/transport.js';
import { openWebSocket, WEBSOCKET_LIMITS, webSocketBytes, webSocketTransport } from '../../src/wire/websocket.js';
import { type Message, transportContract } from './transport-contract.js';

const closed = <In, Out>(transport: Transport<In, Out>): Promise<CloseReason> =>
  new Promise((resolve) => transport.onClose(resolve));

async function sockets(): Promise<{ client: WebSocket; accepted: WebSocket; dispose(): Promise<void> }> {
  const server = new WebSocketServer({ ...WEBSOCKET_LIMITS, host: '127.0.0.1', port: 0 });
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const connection = once(server, 'connection');
  const client = await openWebSocket(`ws://127.0.0.1:${port}`);
  const [accepted] = (await connection) as [WebSocket];
  const dispose = async (): Promise<void> => {
    client.terminate();
    accepted.terminate();
    await new Promise((done) => server.close(done));
  };
  return { client, accepted, dispose };
}

transportContract('a WebSocket', async () => {
  const { client, accepted, dispose } = await sockets();
  return {
    left: webSocketTransport(client) as Transport<Message, Message>,
    right: webSocketTransport(accepted) as Transport<Message, Message>,
    dispose,
  };
});

describe('opening a WebSocket', () => {
  it('is refused when the caller has given up before', async () => {
    const refused = openWebSocket('ws://127.0.0.1:9', { signal: AbortSignal.abort() });
    await expect(refused).rejects.toMatchObject({ code: 'WIRE_CONNECT' });
  });
});

describe('a WebSocket of JSON messages', () => {
  it('decodes nothing after its close', async () => {
    const { client, accepted, dispose } = await sockets();
    onTestFinished(dispose);
    const malformed: Error[] = [];
    const transport = webSocketTransport(accepted, { onMalformed: (error) => malformed.push(error) });
    transport.onMessage(() => {});
    client.send('no JSON');
    await expect.poll(() => malformed).toHaveLength(1);
    client.pause();
    transport.close();
    client.send('no JSON');
    client.resume();
    await once(accepted, 'close');
    expect(malformed).toHaveLength(1);
  });

  it('accepts binary frames that hold UTF-8 JSON', async () => {
    const { client, accepted, dispose } = await sockets();
    onTestFinished(dispose);
    const transport = webSocketTransport(accepted);
    const message = new Promise((resolve) => transport.onMessage(resolve));
    client.send(Buffer.from('{"n":1}'), { binary: true });
    expect(await message).toEqual({ n: 1 });
  });

  it('closes with 1008 and a stated reason when a frame is not JSON', async () => {
    const { client, accepted, dispose } = await sockets();
    onTestFinished(dispose);
    const transport = webSocketTransport(accepted);
    transport.onMessage(() => {});
    client.resume();
    client.send('not json');
    const [code, reason] = (await once(client, 'close')) as [number, Buffer];
    expect(code).toBe(1008);
    expect(reason.toString()).toContain('not valid JSON');
    expect((await closed(transport)).kind).toBe('error');
  });

  it('refuses a message above the payload limit and a flood of one-byte fragments', async () => {
    const { client, accepted, dispose } = await sockets();
    onTestFinished(dispose);
    const transport = webSocketTransport(accepted);
    transport.onMessage(() => expect.unreachable());
    client.on('error', () => {});
    for (let count = 0; count < WEBSOCKET_LIMITS.maxFragments + 10; count += 1) client.send('1', { fin: false });
    expect((await closed(transport)).kind).toBe('error');
  });

  it('carries bytes in binary frames, and ends on a text frame', async () => {
    const { client, accepted, dispose } = await sockets();
    onTestFinished(dispose);
    const left = webSocketBytes(client);
    const right = webSocketBytes(accepted);
    const got = new Promise<Uint8Array>((resolve) => right.onMessage(resolve));
    void left.send(Uint8Array.of(1, 2, 255));
    expect([...(await got)]).toEqual([1, 2, 255]);
    client.send('text');
    expect((await closed(right)).kind).toBe('error');
  });
});

describe('opening a WebSocket', () => {
  it('says that nobody listens', async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const { port } = server.address() as { port: number };
    await new Promise((done) => server.close(done));
    await expect(openWebSocket(`ws://127.0.0.1:${port}`)).rejects.toSatisfy((error) =>
      isSallyportError(error, 'WIRE_CONNECT'),
    );
  });

  it('gives up on a server that never answers, and on demand', async () => {
    const server = createServer((socket) => socket.resume());
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => new Promise<void>((done) => server.close(() => done())));
    const { port } = server.address() as { port: number };
    const url = `ws://127.0.0.1:${port}`;
    await expect(openWebSocket(url, { connectTimeoutMs: 50 })).rejects.toThrow('cannot connect');
    const controller = new AbortController();
    const attempt = openWebSocket(url, { signal: controller.signal });
    controller.abort();
    await expect(attempt).rejects.toThrow('gave up');
  });

  it('refuses an address that is not one', async () => {
    await expect(openWebSocket('http//nope')).rejects.toThrow('cannot connect');
  });
});

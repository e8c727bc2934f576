import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { isSallyportError } from '../../src/errors/index.js';
import {
  listenWebSocket,
  type WebSocketListener,
  type WebSocketListenerOptions,
} from '../../src/wire/websocket-listener.js';

async function listener(options: Partial<WebSocketListenerOptions> = {}): Promise<WebSocketListener> {
  const made = await listenWebSocket({ host: '127.0.0.1', port: 0, ...options }, (socket) => {
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    socket.on('error', () => {});
  });
  onTestFinished(() => made.close());
  return made;
}

/** Tries to open a socket: 101, or the status of the refusal. */
function attempt(url: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve) => {
    const socket = new WebSocket(url, { headers, perMessageDeflate: true });
    socket.on('unexpected-response', (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.on('open', () => {
      expect(socket.extensions).toBe('');
      socket.close();
      resolve(101);
    });
    socket.on('error', () => {});
  });
}

describe('a WebSocket listener', () => {
  it('says where it listens and carries messages, uncompressed', async () => {
    const { url, port } = await listener();
    expect(url).toBe(`ws://127.0.0.1:${port}`);
    const socket = new WebSocket(url);
    await once(socket, 'open');
    socket.send('hello');
    const [data] = await once(socket, 'message');
    expect(String(data)).toBe('hello');
    socket.close();
  });

  it('refuses every Origin that was not allowed with 403, before the upgrade', async () => {
    const { url } = await listener({ allowedOrigins: ['https://app.example'] });
    expect(await attempt(url)).toBe(101);
    expect(await attempt(url, { origin: 'https://app.example' })).toBe(101);
    const foreign = ['https://evil.example', 'null', 'http://app.example', 'https://app.example.evil', url];
    for (const origin of foreign) expect(await attempt(url, { origin })).toBe(403);
  });

  it('refuses a browser that does not say for which page it acts', async () => {
    const { url } = await listener();
    expect(await attempt(url, { 'sec-fetch-site': 'cross-site' })).toBe(403);
  });

  it('refuses a name that was rebound to this machine', async () => {
    const { url, port } = await listener({ allowedHosts: ['sallyport.test'] });
    for (const host of ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', '.'])
      expect(await attempt(url, { host })).toBe(403);
    for (const host of [`localhost:${port}`, 'LOCALHOST', `[::1]:${port}`, 'sallyport.test'])
      expect(await attempt(url, { host })).toBe(101);
  });

  it('asks for its token in the one header where it belongs', async () => {
    const { url } = await listener({ token: 's3cret' });
    expect(await attempt(url, { authorization: 'Bearer s3cret' })).toBe(101);
    expect(await attempt(url, { authorization: 'bearer s3cret' })).toBe(101);
    expect(await attempt(url)).toBe(401);
    for (const authorization of ['Bearer', 'Bearer ', 'Bearer s3cre', 'Bearer s3cret2', 'Basic s3cret', 's3cret'])
      expect(await attempt(url, { authorization })).toBe(401);
    expect(await attempt(`${url}?token=s3cret`)).toBe(401);
    expect(await attempt(url, { cookie: 'token=s3cret' })).toBe(401);
  });

  it('serves one path when told to', async () => {
    const { url } = await listener({ path: '/exec' });
    expect(await attempt(`${url}/exec?x=1`)).toBe(101);
    for (const path of ['', '/', '/exec/', '//exec', '/other']) expect(await attempt(url + path)).toBe(404);
  });

  it('holds no more connections than allowed, and takes new ones when others went', async () => {
    const made = await listener({ maxConnections: 2 });
    const open = [new WebSocket(made.url), new WebSocket(made.url)];
    await Promise.all(open.map((socket) => once(socket, 'open')));
    expect(made.connections).toBe(2);
    expect(await attempt(made.url)).toBe(503);
    open[0]?.close();
    await once(open[0] as WebSocket, 'close');
    expect(await attempt(made.url)).toBe(101);
    open[1]?.terminate();
  });

  it('answers plain HTTP with 426', async () => {
    const { port } = await listener();
    const response = await fetch(`http://127.0.0.1:${port}/`);
    expect(response.status).toBe(426);
    await response.text();
  });

  it('survives garbage, huge headers and a peer that leaves in the middle', async () => {
    const made = await listener();
    for (const bytes of ['\0\0\0', `GET / HTTP/1.1\r\nx: ${'y'.repeat(64 * 1024)}`, 'GET / HTTP/1.1\r\nUpgr']) {
      const socket = connect(made.port, '127.0.0.1');
      socket.on('error', () => {});
      socket.resume();
      socket.end(bytes);
      await once(socket, 'close');
    }
    expect(await attempt(made.url)).toBe(101);
  });

  it('says goodbye to every connection when it closes', async () => {
    const made = await listener();
    const socket = new WebSocket(made.url);
    await once(socket, 'open');
    const goodbye = once(socket, 'close');
    await made.close('maintenance');
    const [code, reason] = await goodbye;
    expect([code, String(reason)]).toEqual([1001, 'maintenance']);
  });

  it('says when the port is taken', async () => {
    const { port } = await listener();
    await expect(listenWebSocket({ host: '127.0.0.1', port }, () => {})).rejects.toSatisfy(
      (error) => isSallyportError(error, 'WIRE_LISTEN') && error.message.includes('the port is taken'),
    );
  });

  it('closes without waiting for who has connected and not asked for a WebSocket', async () => {
    const { port, close } = await listener();
    const silent = connect(port, '127.0.0.1');
    const halting = connect(port, '127.0.0.1');
    for (const socket of [silent, halting]) socket.on('error', () => {});
    await Promise.all([once(silent, 'connect'), once(halting, 'connect')]);
    halting.write('GET / HTTP/1.1\r\nHost: loc');
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = performance.now();
    await close();
    expect(performance.now() - before).toBeLessThan(8_000);
  });
});

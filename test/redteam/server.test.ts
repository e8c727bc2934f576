import { connect as connectTcp, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { connect, opened, type Started, start } from '../server/start.js';

interface Answer {
  readonly text: string;
  readonly statuses: readonly number[];
}

/** Sends pieces of bytes over one connection and collects what comes back until the server hangs up, or is silent. */
function attack(
  { url }: Started,
  pieces: readonly (string | Buffer)[],
  ending: 'end' | 'wait' = 'end',
): Promise<Answer> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket: Socket = connectTcp(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece);
      if (ending === 'end') socket.end();
    });
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', () =>
      resolve({ text, statuses: [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1])) }),
    );
    onTestFinished(() => void socket.destroy());
  });
}

const POST = 'POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const SMUGGLED = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';

describe('requests that two parsers could read differently', () => {
  it.each([
    ['a length and an encoding', `${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ['two lengths', `${POST}Content-Length: 0\r\nContent-Length: 50\r\n\r\n${SMUGGLED}`],
    ['an encoding that is none', `${POST}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ['two encodings', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    ['a space before the colon', `${POST}Content-Length : 0\r\n\r\n${SMUGGLED}`],
    ['a folded header', `${POST}X-A: 1\r\n b\r\nContent-Length: 0\r\n\r\n${SMUGGLED}`],
    ['bare line feeds', `POST /run HTTP/1.1\nHost: localhost\n\n${SMUGGLED}`],
    ['a broken chunk', `${POST}Transfer-Encoding: chunked\r\n\r\n5;${'x'.repeat(20_000)}\r\nhello\r\n0\r\n\r\n`],
    ['no Host', 'GET /health HTTP/1.1\r\n\r\n'],
    ['two Hosts', 'GET /executions HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n'],
  ])('%s: nothing is smuggled', async (_name, bytes) => {
    const started = await start();
    const { text, statuses } = await attack(started, [bytes]);
    expect(text).not.toContain('sallyport_executions_total');
    expect(statuses.filter((status) => status === 200)).toEqual([]);
    expect((await started.json('/health')).status).toBe(200);
  });
});

describe('requests that cost too much', () => {
  it('headers that are too many or too large are refused', async () => {
    const started = await start();
    const large = `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Large: ${'x'.repeat(100_000)}\r\n\r\n`;
    expect((await attack(started, [large])).statuses).toEqual([431]);
    const many = `GET /health HTTP/1.1\r\nHost: localhost\r\n${'X: 1\r\n'.repeat(100_000)}\r\n`;
    expect((await attack(started, [many])).statuses).toEqual([431]);
  });

  it('headers and bodies that trickle in are cut off', async () => {
    const started = await start({ limits: { headersTimeoutMs: 500, requestTimeoutMs: 1_000 } });
    const [headers, body] = await Promise.all([
      attack(started, ['GET /health HTTP/1.1\r\nHost: loc'], 'wait'),
      attack(started, [`${POST}Content-Length: 100\r\n\r\n{"code"`], 'wait'),
    ]);
    expect(headers.statuses).toEqual([408]);
    expect(body.statuses).toEqual([408]);
  });

  it('bodies that are too large, compressed, of another kind, or no JSON are refused', async () => {
    const started = await start({ limits: { bodyBytes: 1_000 } });
    const json = { 'content-type': 'application/json' };
    const post = (body: string | Buffer, headers: Record<string, string> = json): Promise<number> =>
      fetch(`${started.url}/run`, { method: 'POST', headers, body: new Uint8Array(Buffer.from(body)) }).then(
        ({ status }) => status,
      );
    expect(await post(`{"code":"${'x'.repeat(2_000)}"}`)).toBe(413);
    expect(await post('{"code":"1"}', { ...json, 'content-encoding': 'gzip' })).toBe(415);
    for (const kind of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      'application/jsonx',
    ]) {
      expect(await post('{"code":"return 1"}', { 'content-type': kind }), kind).toBe(415);
    }
    expect(await post('{"code":"1","code":"2"}')).toBe(400);
    expect(await post('{"code":"1","__proto__":{"timeoutMs":1}}')).toBe(400);
    expect(await post(Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]))).toBe(400);
    expect(await post(`${'['.repeat(400)}${']'.repeat(400)}`)).toBe(400);
  });

  it('connections beyond the limit of an address are refused, and room is made when some close', async () => {
    const started = await start({ limits: { connectionsPerAddress: 3 } });
    const sockets = await Promise.all([1, 2, 3].map(() => opened(started.url, '/exec')));
    const { statuses, text } = await attack(started, ['GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'], 'wait');
    expect(statuses).toEqual([503]);
    expect(text).toContain('OVERLOADED');
    const closed = new Promise((resolve) => sockets[0]!.once('close', resolve));
    sockets[0]!.close();
    await closed;
    await expect.poll(async () => (await started.json('/health').catch(() => ({ status: 0 }))).status).toBe(200);
  });

  it('answers pipelined requests in order, each on its own', async () => {
    const started = await start();
    const one = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n';
    const last = 'GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';
    expect((await attack(started, [one.repeat(20) + last], 'wait')).statuses).toEqual([...Array(20).fill(200), 404]);
  });
});

describe('paths and methods that mean something else', () => {
  it('reach nothing', async () => {
    const started = await start();
    const hit = (line: string, headers = ''): Promise<Answer> =>
      attack(started, [`${line} HTTP/1.1\r\nHost: localhost\r\n${headers}Connection: close\r\n\r\n`], 'wait');
    for (const path of [
      '//metrics',
      '/api/../metrics',
      '/./metrics',
      '/METRICS',
      '/health/../metrics',
      '/health;/metrics',
      '/api/metrics',
      '/api//health',
    ]) {
      const { text, statuses } = await hit(`GET ${path}`);
      expect(statuses, path).toEqual([404]);
      expect(text).not.toContain('sallyport_executions_total');
    }
    expect((await hit('POST /health', 'X-HTTP-Method-Override: GET\r\n')).statuses[0]).toBeGreaterThanOrEqual(400);
    expect((await hit('TRACE /health')).statuses[0]).toBeGreaterThanOrEqual(400);
    expect((await hit('CONNECT evil.example:443')).statuses).not.toContain(200);
    const head = await hit('HEAD /health');
    expect(head.statuses).toEqual([200]);
    expect(head.text.split('\r\n\r\n')[1]).toBe('');
  });
});

describe('WebSockets that misbehave', () => {
  it('cannot upgrade what is no WebSocket, nor elsewhere', async () => {
    const started = await start();
    const upgrade = (path: string, to: string): Promise<Answer> =>
      attack(
        started,
        [`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: ${to}\r\n\r\n`],
        'wait',
      );
    expect((await upgrade('/exec', 'h2c')).statuses).toEqual([400]);
    expect((await upgrade('/run', 'websocket')).statuses).toEqual([404]);
    expect((await upgrade('/exec/', 'websocket')).statuses).toEqual([404]);
    expect(await connect(started.url, '/wasm/..%2f..')).toBe(404);
  });

  it('offer compression in vain', async () => {
    const { url } = await start();
    const socket = await opened(url, '/exec');
    expect(socket.extensions).toBe('');
  });

  it.each([
    ['frames that are not JSON', (send: (data: string | Buffer) => void) => send('{')],
    ['bytes that are no text', (send: (data: string | Buffer) => void) => send(Buffer.from([0xff, 0xfe]))],
    ['values without end', (send: (data: string | Buffer) => void) => send(`[${'0,'.repeat(1_000_000)}0]`)],
  ])('%s end the connection or are answered, and nobody else notices', async (_name, act) => {
    const { url, json } = await start();
    const socket = await opened(url, '/guest');
    const other = await opened(url, '/exec');
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    act((data) => socket.send(data));
    expect(await closed).toBeGreaterThanOrEqual(1_000);
    expect(other.readyState).toBe(other.OPEN);
    expect((await json('/health')).status).toBe(200);
  });

  it('text where bytes belong ends a Wasm connection and its guest', async () => {
    const { C_MODULES } = await import('../server/start.js');
    const { url, server } = await start({ wasmDir: C_MODULES });
    const socket = await opened(url, '/wasm/guest');
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    socket.send('text');
    expect(await closed).toBe(1_008);
    await server.trail.idle();
    expect(server.trail.active).toBe(0);
  });

  it('a flood of pings is not answered beyond what is read', async () => {
    const { url, json } = await start();
    const socket = await opened(url, '/exec');
    socket.pause();
    for (let count = 0; count < 20_000; count += 1) socket.ping(Buffer.alloc(100));
    expect((await json('/health')).status).toBe(200);
    socket.terminate();
  });
});

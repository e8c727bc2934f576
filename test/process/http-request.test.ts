import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { NetworkTarget } from '../../src/process/index.js';
import { ownServer, rawPair } from './helpers.js';
import { base64, connectTo, KINDS, sharedServer } from './raw-client.js';

const shared = sharedServer();

async function site(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
}

const echo: RequestListener = (request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (request.url === '/redirect') response.writeHead(302, { location: '/landed' }).end();
    else
      response
        .setHeader('x-seen', String(request.headers['x-test']))
        .end(`${request.method} ${request.url} ${Buffer.concat(chunks)}`);
  });
};

const GET = { method: 'GET', headers: [], requestId: 'r' };
const text = (value: string): string => Buffer.from(value, 'base64').toString();

describe.each(KINDS)('http/request over %s', (kind) => {
  it('sends, follows redirects or stops, and streams', async () => {
    const url = await site(echo);
    const client = await connectTo(kind, shared);
    await client.later();
    const post = await client.call('http/request', {
      method: 'POST',
      url,
      headers: [{ name: 'X-Test', value: 'yes' }],
      bodyBase64: base64('body'),
      requestId: '1',
    });
    expect(post.result.status).toBe(200);
    expect(post.result.headers).toContainEqual({ name: 'x-seen', value: 'yes' });
    expect(text(post.result.bodyBase64)).toBe('POST / body');
    const followed = await client.call('http/request', { ...GET, url: `${url}/redirect` });
    expect(text(followed.result.bodyBase64)).toBe('GET /landed ');
    const stopped = await client.call('http/request', { ...GET, url: `${url}/redirect`, redirectPolicy: 'stop' });
    expect(stopped.result.status).toBe(302);
    const streamed = await client.call('http/request', { ...GET, url, requestId: 's', streamResponse: true });
    expect(streamed.result).toMatchObject({ status: 200, bodyBase64: '' });
    await client.until((message) => message.method === 'http/request/bodyDelta' && message.params.done);
    const deltas = client.received.filter((message) => message.method === 'http/request/bodyDelta');
    expect(deltas.map(({ params }) => params.seq)).toEqual(deltas.map((_, index) => index + 1));
    expect(deltas.map(({ params }) => text(params.deltaBase64)).join('')).toBe('GET / ');
    expect(client.received.indexOf(deltas[0])).toBeGreaterThan(client.received.indexOf(streamed));
  });
});

describe('http/request', () => {
  it('refuses what makes no sense', async () => {
    const client = rawPair(ownServer());
    await client.later();
    const url = await site(echo);
    const code = async (params: unknown) => (await client.call('http/request', params)).error?.code;
    expect(await code({ ...GET, url: 'ftp://127.0.0.1/' })).toBe(-32602);
    expect(await code({ ...GET, url: 'nope' })).toBe(-32602);
    expect(await code({ ...GET, url, method: 'G T' })).toBe(-32602);
    expect(await code({ ...GET, url, method: 'CONNECT' })).toBe(-32602);
    expect(await code({ ...GET, url, headers: [{ name: 'a', value: 'b\r\nc: d' }] })).toBe(-32602);
    expect(await code({ ...GET, url, headers: [{ name: 'a', value: 'x'.repeat(40_000) }] })).toBe(-32602);
    expect(await code({ ...GET, url, headers: Array.from({ length: 300 }, () => ({ name: 'a', value: '' })) })).toBe(
      -32602,
    );
    expect(await code({ ...GET, url, bodyBase64: '!' })).toBe(-32602);
    expect(await code({ ...GET, url: 'http://127.0.0.1:1/' })).toBe(-32603);
  });

  it('asks the policy about every connection, redirects included, and connects to the address it was asked about', async () => {
    const asked: NetworkTarget[] = [];
    const inner = await site((_request, response) => void response.end('secret'));
    const outer = await site((_request, response) => void response.writeHead(302, { location: inner }).end());
    const client = rawPair(
      ownServer({
        networkPolicy: (target) => {
          asked.push(target);
          return target.url.href.startsWith(outer) ? { allow: true } : { allow: false, reason: 'not on the list' };
        },
      }),
    );
    await client.later();
    const { error } = await client.call('http/request', { ...GET, url: outer });
    expect(error).toEqual({ code: -32600, message: 'http/request refused by policy: not on the list' });
    expect(asked.map(({ address }) => address)).toEqual(['127.0.0.1', '127.0.0.1']);
    await client.call('http/request', { ...GET, url: 'http://localhost:1/' });
    expect(asked.at(-1)).toMatchObject({ address: expect.stringMatching(/127\.0\.0\.1|::1/), port: 1 });
  });

  it('does not take credentials to another origin', async () => {
    let seen: unknown = 'nothing';
    const target = await site((request, response) => {
      seen = request.headers.authorization;
      response.end();
    });
    const start = await site((_request, response) => void response.writeHead(307, { location: target }).end());
    const client = rawPair(ownServer());
    await client.later();
    const headers = [{ name: 'Authorization', value: 'Bearer x' }];
    expect((await client.call('http/request', { ...GET, url: start, headers })).result.status).toBe(200);
    expect(seen).toBeUndefined();
  });

  it('has limits for time, size, redirects and number, and can be switched off', async () => {
    const slow = await site(() => {});
    const big = await site((_request, response) => void response.end(randomBytes(50_000)));
    const loop = await site((_request, response) => void response.writeHead(302, { location: '/' }).end());
    const client = rawPair(ownServer({ limits: { httpBodyBytes: 10_000, httpRequests: 1, httpRedirects: 3 } }));
    await client.later();
    const ask = async (url: string, more: object = {}) =>
      (await client.call('http/request', { ...GET, url, ...more })).error;
    expect(await ask(slow, { timeoutMs: 30 })).toMatchObject({
      code: -32603,
      message: expect.stringContaining('time'),
    });
    expect(await ask(big)).toMatchObject({ code: -32603, message: expect.stringContaining('10000') });
    expect(await ask(loop)).toMatchObject({ code: -32603, message: expect.stringContaining('redirects') });
    const pending = client.call('http/request', { ...GET, url: slow, requestId: 'x', timeoutMs: 500 });
    expect(await ask(big)).toMatchObject({ code: -32600, message: expect.stringContaining('too many') });
    await pending;
    const streamed = await client.call('http/request', { ...GET, url: big, requestId: 's', streamResponse: true });
    expect(streamed.result.status).toBe(200);
    await client.until((message) => message.params?.requestId === 's' && message.params.done);
    const off = rawPair(ownServer({ http: 'off' }));
    await off.later();
    expect((await off.call('http/request', { ...GET, url: big })).error.message).toContain('switched off');
  });
});

describe('a server that changes the protocol instead of answering', () => {
  it('gives an error, and the next request its turn', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => {});
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n');
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    onTestFinished(() => void server.close());
    const client = rawPair(ownServer({ limits: { httpRequests: 1 } }));
    await client.later();
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    for (const requestId of ['a', 'b']) {
      const { error } = await client.call('http/request', { ...GET, url, requestId });
      expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('without a response') });
    }
  });
});

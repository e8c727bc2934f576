import { connect, type Socket } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { toolRoutes, toolServerOptions } from '../../dist/tool/index.js';
import { toolBench } from './helpers.js';

// Processes are started here; a busy machine takes its time.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const { registry, executor } = await toolBench({
  limits: { warmChildren: 1, headersTimeoutMs: 600, requestTimeoutMs: 1_200 },
});
registry.tool(
  'sized',
  `export const echo = { execute: (params) => params };
   export const large = { execute: ({ bytes }) => 'x'.repeat(bytes) };`,
);
let server: FastifyInstance;
let port = 0;
const sockets: Socket[] = [];

beforeAll(async () => {
  server = Fastify(toolServerOptions(executor.limits));
  await server.register(toolRoutes(executor, { apiKey: '' }));
  port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port);
});
afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close();
});

function open(): Socket {
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.on('error', () => {});
  sockets.push(socket);
  return socket;
}

/** Everything that comes back until the server closes the connection. */
function untilClosed(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.on('close', () => resolve(text));
  });
}

/** Resolves when what came back has so many answers. */
function answers(socket: Socket, count: number): Promise<string[]> {
  return new Promise((resolve) => {
    let text = '';
    socket.on('data', (chunk: string) => {
      text += chunk;
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1] ?? '');
      if (statuses.length >= count) resolve(statuses);
    });
  });
}

const body = JSON.stringify({ packageName: 'sized', name: 'echo', params: { a: 1 } });
const head = `POST /execute-tool HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
const health = async (): Promise<number> => (await fetch(`http://127.0.0.1:${port}/health`)).status;

describe('a connection', () => {
  it('is closed when its headers come byte by byte, and others are served meanwhile', async () => {
    const slow = Array.from({ length: 50 }, open);
    const closed = Promise.all(slow.map(untilClosed));
    const drip = setInterval(() => {
      for (const socket of slow) if (socket.writable) socket.write('X: y\r\n');
    }, 100);
    for (const socket of slow) socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n');
    expect(await health()).toBe(200);
    for (const text of await closed) expect(text).toMatch(/^HTTP\/1\.1 408 [\s\S]*did not arrive in time/);
    clearInterval(drip);
  });

  it('is closed when its body comes byte by byte', async () => {
    const slow = open();
    const closed = untilClosed(slow);
    slow.write(`${head}Content-Length: 100000\r\n\r\n{`);
    const drip = setInterval(() => slow.writable && slow.write(' '), 100);
    expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
    clearInterval(drip);
    expect(executor.stats().executions.total).toBe(0);
  });

  it('holds nobody else up when it does not read its answer', async () => {
    const lazy = open();
    lazy.pause();
    const request = JSON.stringify({ packageName: 'sized', name: 'large', params: { bytes: 8_000_000 } });
    lazy.write(`${head}Content-Length: ${request.length}\r\n\r\n${request}`);
    await expect.poll(() => executor.stats().executions).toMatchObject({ total: 1, running: 0 });
    const quick = open();
    const answered = answers(quick, 1);
    quick.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
    expect(await answered).toEqual(['200']);
    expect(await health()).toBe(200);
    lazy.destroy();
  });

  it('is told that it sends too many headers', async () => {
    const flooding = open();
    const closed = untilClosed(flooding);
    flooding.write(`GET /health HTTP/1.1\r\nHost: localhost\r\n${'a: b\r\n'.repeat(100_000)}\r\n`);
    expect(await closed).toContain('HTTP/1.1 431');
    expect(await health()).toBe(200);
  });

  it('gets the answers to requests that it sent ahead, in their order', async () => {
    const eager = open();
    const answered = answers(eager, 4);
    const post = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    eager.write(
      `${post}GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n${post}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`,
    );
    expect(await answered).toEqual(['200', '404', '200', '200']);
  });

  it('stays open after a method that a path does not serve, unless a body is left unread', async () => {
    const wrong = open();
    const answered = answers(wrong, 3);
    wrong.write(
      'DELETE /execute-tool HTTP/1.1\r\nHost: localhost\r\n\r\n' +
        'POST /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n' +
        'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n',
    );
    expect(await answered).toEqual(['404', '404', '200']);
    for (const [headers, rest] of [
      ['Content-Length: 100000', '{'],
      ['Transfer-Encoding: chunked', '1\r\n{\r\n'],
    ]) {
      const unread = open();
      const closed = untilClosed(unread);
      unread.write(`PUT /execute-tool HTTP/1.1\r\nHost: localhost\r\n${headers}\r\n\r\n${rest}`);
      expect(await closed).toMatch(/^HTTP\/1\.1 404 [\s\S]*connection: close/i);
    }
  });

  it('may ask before it sends a body, and may expect nothing else', async () => {
    const polite = open();
    const answered = answers(polite, 2);
    polite.write(`${head}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
    polite.once('data', () => polite.write(body));
    expect(await answered).toEqual(['100', '200']);
    const odd = open();
    const refused = answers(odd, 1);
    odd.write(`${head}Expect: 200-ok\r\nContent-Length: ${body.length}\r\n\r\n`);
    expect(await refused).toEqual(['417']);
  });

  it.each([
    ['a line that ends in LF alone', `GET /health HTTP/1.1\nHost: localhost\n\n`],
    ['a folded header', 'GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n b\r\n\r\n'],
    ['a blank before the colon', 'GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n'],
    ['two lengths', `${head}Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}`],
    ['a length and chunks', `${head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['chunks that are not the last coding', `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
    ['a chunk with LF alone', `${head}Transfer-Encoding: chunked\r\n\r\n2\n{}\n0\n\n`],
    [
      'an extension of a chunk without end',
      `${head}Transfer-Encoding: chunked\r\n\r\n2;${'x'.repeat(40_000)}\r\n{}\r\n0\r\n\r\n`,
    ],
  ])('is refused with %s, and cannot smuggle a second request', async (_what, text) => {
    const smuggler = open();
    const closed = untilClosed(smuggler);
    smuggler.write(`${text}GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    const received = await closed;
    expect([...received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((match) => match[1])).toEqual([
      expect.stringMatching(/^4\d\d$/),
    ]);
  });
});

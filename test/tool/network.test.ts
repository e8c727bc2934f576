import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createToolExecutor, type ToolExecutor } from '../../dist/tool/index.js';
import { here, testRefusalWithoutRooms } from '../sandbox/container/rooms.js';
import { errorOf, outputOf, scratchFolder } from './helpers.js';
import { TestRegistry } from './registry.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const BROWSER = `
  import http from 'node:http';
  import https from 'node:https';
  import net from 'node:net';
  const read = (request) => new Promise((resolve, reject) => {
    request.on('error', reject).on('response', (response) => {
      let text = '';
      response.on('data', (chunk) => { text += chunk; }).on('end', () => resolve(text));
    });
  });
  export const byFetch = { execute: async ({ url }) => (await fetch(url)).text() };
  export const byHttp = { execute: ({ url }) => read(http.get(url)) };
  export const byAgent = { execute: ({ url }) => read(http.get(url, { agent: new http.Agent({ keepAlive: true }) })) };
  export const byHttps = { execute: ({ url }) => read(https.get(url.replace('http:', 'https:'))) };
  export const bySocket = { execute: ({ host, port }) => new Promise((resolve, reject) => {
    net.connect({ host, port }).on('error', reject).once('data', (bytes) => resolve(String(bytes))).write('GET / HTTP/1.0\\r\\n\\r\\n');
  }) };
  const settle = (work) => work.then((value) => value, (error) => 'failed: ' + (error.cause?.message ?? error.message));
  export const fetchAll = { execute: ({ urls }) => Promise.all(urls.map((url) => settle(byFetch.execute({ url })))) };
  export const connectAll = { execute: ({ hosts, port }) => Promise.all(hosts.map((host) => settle(connect(host, port)))) };
  const connect = (host, port) => new Promise((resolve, reject) => {
    const { hostname, port: relay } = new URL(process.env.HTTP_PROXY);
    net.connect({ host: hostname, port: Number(relay) }).on('error', reject).once('data', (bytes) => resolve(String(bytes).split('\\r\\n')[0]))
      .write('CONNECT ' + host + ':' + port + ' HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n');
  });
  export const twice = { execute: async ({ url }) => { const agent = new http.Agent({ keepAlive: true }); return [await read(http.get(url, { agent })), await read(http.get(url, { agent }))]; } };
  export const own = { execute: async () => {
    const server = http.createServer((request, response) => response.end('private'));
    await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (await fetch('http://127.0.0.1:' + server.address().port)).text();
  } };
  export const none = { execute: () => process.env.HTTP_PROXY ?? 'no proxy' };
`;

let registry: TestRegistry;
let server: Server;
let port = 0;
const executors: ToolExecutor[] = [];

function executor(options: Partial<Parameters<typeof createToolExecutor>[0]>): ToolExecutor {
  const made = createToolExecutor({
    cacheDir: scratchFolder(),
    registry: registry.url,
    limits: { warmChildren: 1 },
    ...options,
  });
  executors.push(made);
  return made;
}

const call = (who: ToolExecutor, name: string, params: object = {}) =>
  who.execute({ packageName: 'browser', name, params });

beforeAll(async () => {
  registry = await TestRegistry.start();
  registry.tool('browser', BROWSER);
  server = createServer((request, response) => response.end(`served ${request.url}`));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(async () => {
  await Promise.all(executors.map((one) => one.dispose()));
  server.closeAllConnections();
  server.close();
  await registry.close();
});

testRefusalWithoutRooms();

describe.runIf(here.available)('the network of a confined tool', () => {
  it('is reached by fetch, http and agents of its own where the policy names the address', async () => {
    const allowed = executor({
      level: 'container',
      policy: { network: { kind: 'allow', hosts: [`127.0.0.1:${port}`] } },
    });
    const url = `http://127.0.0.1:${port}/page`;
    for (const name of ['byFetch', 'byHttp', 'byAgent']) {
      expect(outputOf(await call(allowed, name, { url }))).toBe('served /page');
    }
    expect(outputOf(await call(allowed, 'twice', { url }))).toEqual(['served /page', 'served /page']);
    // It got through to a server that speaks no TLS.
    expect(errorOf(await call(allowed, 'byHttps', { url })).message).toMatch(/EPROTO|wrong version/);
    const [other = 0] = [port === 65_535 ? port - 1 : port + 1];
    for (const name of ['byFetch', 'byHttp', 'byAgent', 'byHttps']) {
      const { message } = errorOf(await call(allowed, name, { url: `http://127.0.0.1:${other}/` }));
      expect(message).toContain(`connecting to 127.0.0.1:${other} is not allowed by the network policy`);
    }
  });

  it('is reached by name where the policy names it', async () => {
    const named = executor({
      level: 'container',
      policy: { network: { kind: 'allow', hosts: [`localhost:${port}`] } },
    });
    expect(outputOf(await call(named, 'byFetch', { url: `http://localhost:${port}/` }))).toBe('served /');
    expect(errorOf(await call(named, 'byFetch', { url: `http://127.0.0.1:${port}/` })).message).toContain(
      'not allowed',
    );
  });

  it('never is loopback, a private or a metadata address by default, in any spelling', async () => {
    const open = executor({ level: 'container' });
    const plain = executor({ level: 'process' });
    const spellings = [
      '127.0.0.1',
      'localhost',
      '127.1',
      '0x7f.0.0.1',
      '2130706433',
      '0177.0.0.1',
      '[::ffff:127.0.0.1]',
    ];
    const urls = spellings.map((host) => `http://${host}:${port}/`);
    expect(outputOf(await call(plain, 'fetchAll', { urls }))).toEqual(urls.map(() => 'served /'));
    expect(outputOf(await call(open, 'fetchAll', { urls }))).toEqual(
      urls.map(() => expect.stringMatching(/^failed: /)),
    );
    expect(outputOf(await call(plain, 'bySocket', { host: '127.0.0.1', port }))).toContain('200 OK');
    expect(errorOf(await call(open, 'bySocket', { host: '127.0.0.1', port })).message).toContain('ECONNREFUSED');
    const hosts = [
      ...[
        '169.254.169.254',
        '[fd00:ec2::254]',
        '[::ffff:169.254.169.254]',
        '0xa9fea9fe',
        '2852039166',
        '169.254.43518',
      ],
      ...['10.0.0.1', '192.168.1.1', '0.0.0.0', '127.0.0.1', '127.1', '[::1]', '[::]', '[64:ff9b::7f00:1]'],
    ];
    const answers = outputOf(await call(open, 'connectAll', { hosts, port }));
    expect(answers).toEqual(hosts.map(() => expect.stringMatching(/^HTTP\/1\.1 403 /)));
  });

  it('leaves a tool its own loopback, and nothing more where the policy is none', async () => {
    const open = executor({ level: 'container' });
    expect(outputOf(await call(open, 'own'))).toBe('private');
    const closed = executor({ level: 'container', policy: { network: { kind: 'none' } } });
    expect(outputOf(await call(closed, 'none'))).toBe('no proxy');
    expect(errorOf(await call(closed, 'byFetch', { url: `http://127.0.0.1:${port}/` })).message).toContain(
      'fetch failed',
    );
  });
});

it('refuses a list of hosts at a level that cannot hold it', () => {
  const wish = { cacheDir: scratchFolder(), policy: { network: { kind: 'none' } } } as const;
  expect(() => createToolExecutor(wish)).toThrow(/policy\.network is none, which the level "process" cannot hold/);
});

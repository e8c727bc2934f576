import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { createSpawner } from '../../dist/sandbox/index.js';
import {
  createToolExecutor,
  ToolClient,
  type ToolExecutor,
  type ToolRoutesOptions,
  toolRoutes,
  toolServerOptions,
} from '../../dist/tool/index.js';
import { isRunning, toolBench } from './helpers.js';

// Many processes are started here; a busy machine takes its time.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const { registry, executor, cacheDir } = await toolBench({
  limits: {
    maxRequestBodyBytes: 200_000,
    streamGraceMs: 600,
    heartbeatMs: 100,
    webhookRetryMs: [50, 100, 200],
    retryAfterSeconds: 3,
  },
  policy: { webhookAllow: ['127.0.0.1'] },
});
registry.tool(
  'basic',
  `
  export const echo = { description: 'Echoes.', inputSchema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] }, execute: (params) => params };
  export const fail = { execute: () => { throw new Error('Invalid input'); } };
  export const wait = { execute: async ({ ms }) => { console.log('pid ' + process.pid); await new Promise((r) => setTimeout(r, ms)); return 'waited'; } };
  export const env = { execute: () => process.env.TOKEN ?? null };
  export const double = { execute: ({ n }) => ({ n: n * 2, list: [n] }) };
`,
  {
    manifest: {
      license: 'MIT',
      tpmjs: { env: [{ name: 'TOKEN', required: true }], tools: [{ name: 'echo', description: 'From the manifest.' }] },
    },
  },
);

const servers: FastifyInstance[] = [];
async function serve(options: ToolRoutesOptions = {}, served: ToolExecutor = executor): Promise<string> {
  const server = Fastify(toolServerOptions(served.limits));
  await server.register(toolRoutes(served, { apiKey: '', ...options }));
  servers.push(server);
  return await server.listen({ host: '127.0.0.1', port: 0 });
}
afterAll(async () => {
  await Promise.all(servers.map((server) => server.close()));
});

const url = await serve({ hosts: ['loopback'], region: 'here' });
const keyed = await serve({ apiKey: 'right key'.replace(' ', '-') });
const KEY = 'right-key';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown> & {
    readonly error?: { readonly code: string; readonly message: string; readonly details?: Record<string, unknown> };
  };
}
async function ask(path: string, init: RequestInit & { readonly base?: string } = {}): Promise<Answer> {
  const response = await fetch(`${init.base ?? url}${path}`, init);
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text === '' ? {} : JSON.parse(text) };
}
const post = (path: string, body: unknown, headers: Record<string, string> = {}, base = url): Promise<Answer> =>
  ask(path, {
    base,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** Sends bytes as they are and returns what comes back. */
function raw(text: string, base = url): Promise<string> {
  const { hostname, port } = new URL(base);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let received = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      received += chunk;
    });
    socket.on('error', () => resolve(received));
    socket.on('close', () => resolve(received));
    socket.setTimeout(4_000, () => socket.destroy());
    socket.end(text);
  });
}

describe('the specification', () => {
  it('answers /health and /info on both paths', async () => {
    for (const prefix of ['', '/api']) {
      const health = await ask(`${prefix}/health`);
      expect(health.status).toBe(200);
      expect(health.body).toMatchObject({ status: 'ok', protocolVersion: '1.0', runtime: 'node' });
      expect((await ask(`${prefix}/info`)).body).toMatchObject({
        protocolVersion: '1.0',
        capabilities: {
          isolation: 'process',
          executionModes: ['sync', 'stream', 'async'],
          maxExecutionTimeMs: 120_000,
          maxRequestBodyBytes: 200_000,
        },
        runtime: { platform: process.platform, nodeVersion: process.versions.node, region: 'here' },
      });
    }
    const head = await fetch(`${url}/health`, { method: 'HEAD' });
    expect(head.status).toBe(200);
  });

  it('executes, with the extras that old clients ignore', async () => {
    const done = await post('/api/execute-tool', {
      packageName: 'basic',
      name: 'echo',
      params: { a: 1 },
      unknown: 'ignored',
    });
    expect(done.status).toBe(200);
    expect(done.body).toMatchObject({
      success: true,
      output: { a: 1 },
      resolved: { version: '1.0.0' },
      timings: { queueMs: expect.any(Number) },
    });
    expect(done.headers.get('x-tpmjs-cache')).toMatch(/^(hit|miss)$/);
    const failed = await post('/execute-tool', { packageName: 'basic', name: 'fail' });
    expect(failed.status).toBe(200);
    expect(failed.body).toMatchObject({
      success: false,
      error: { code: 'TOOL_EXECUTION_ERROR', message: 'Tool threw an error: Invalid input' },
      errorCode: 'TOOL_EXECUTION_ERROR',
      errorStage: 'execute',
      retryable: false,
    });
    expect(failed.headers.get('x-tpmjs-cache')).toBe('hit');
  });

  it('puts CORS headers and the protocol version on every answer', async () => {
    const answers = await Promise.all([
      ask('/health'),
      ask('/execute-tool', { method: 'OPTIONS' }),
      ask('/api/executions/x/events', { method: 'OPTIONS' }),
      ask('/nothing'),
      ask('/execute-tool', { method: 'PUT' }),
      post('/execute-tool', '{'),
      post('/execute-tool', 'x'.repeat(300_000)),
      ask('/info', { headers: { 'X-TPMJS-Protocol-Version': '7.3' } }),
      post('/execute-tool', {}, {}, keyed),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 404, 400, 413, 200, 401]);
    for (const { headers } of answers) {
      expect(headers.get('access-control-allow-origin')).toBe('*');
      expect(headers.get('access-control-allow-methods')).toContain('GET, POST');
      expect(headers.get('access-control-allow-headers')).toContain(
        'Content-Type, Authorization, X-TPMJS-Protocol-Version',
      );
      expect(headers.get('x-tpmjs-protocol-version')).toBe('1.0');
      expect(headers.get('access-control-expose-headers')).toContain('X-TPMJS-Protocol-Version');
    }
    expect(answers[4]?.headers.get('allow')).toBe('POST, OPTIONS');
    for (const { body, status } of answers)
      if (status >= 400)
        expect(body).toMatchObject({
          success: false,
          error: { code: expect.any(String), message: expect.any(String) },
        });
  });

  it('publishes an OpenAPI document of all its paths', async () => {
    const { body } = await ask('/openapi.json');
    expect(body).toMatchObject({ openapi: '3.1.0' });
    const { paths, components } = body as unknown as {
      paths: object;
      components: { schemas: Record<string, unknown> };
    };
    expect(Object.keys(paths)).toEqual([
      '/health',
      '/info',
      '/execute-tool',
      '/execute-async',
      '/executions/{id}',
      '/executions/{id}/events',
      '/validate-tool',
      '/load-and-describe',
      '/execute-batch',
    ]);
    const references = [...JSON.stringify(body).matchAll(/#\/components\/schemas\/(\w+)/g)].map(
      (match) => match[1] ?? '',
    );
    expect(references.length).toBeGreaterThan(10);
    for (const name of references) expect(Object.keys(components.schemas)).toContain(name);
    expect(JSON.stringify(body)).not.toContain('$defs');
  });
});

describe('bad requests', () => {
  const NAMES = [
    '--registry=http://evil',
    '-g',
    '--ignore-scripts=false',
    '--prefix=/',
    '--globalconfig=/x',
    '--userconfig',
    'git+ssh://git@x/y.git',
    'git://x/y',
    'github:u/r',
    'http://x/y.tgz',
    'file:../../',
    'link:../x',
    'workspace:*',
    'npm:alias@1',
    'a@npm:b',
    '@scope/../x',
    '..',
    '.',
    '/etc/passwd',
    'node_modules',
    'favicon.ico',
    'a'.repeat(215),
    'UpperCase',
    '%2e%2e%2f',
    'a\0b',
    'reаct',
    '_private',
    '.hidden',
    '',
    ' ',
    'a b',
    'a;rm -rf /',
    '$(id)',
    '`id`',
    'a|b',
    'a&&b',
    '@scope',
    '@/x',
    'a/b',
    'http',
  ];
  const VERSIONS = [
    'npm:other@1',
    'file:..',
    'git://x',
    'http://x',
    '1.0.0; rm -rf /',
    '$(id)',
    '--flag',
    '-g',
    '',
    '..',
    '/etc',
    '1.0.0\0',
    '\n',
    'a b c',
  ];

  it('refuses names, versions, exports and variables that are none, says which, and asks nobody', async () => {
    const before = registry.requests.length;
    const expectRefusal = async (body: object, field: string): Promise<void> => {
      const { status, body: answer } = await post('/execute-tool', body);
      expect(status, JSON.stringify(body)).toBe(400);
      expect(answer.error?.code).toBe('INVALID_REQUEST');
      expect(answer.error?.details?.['field'], JSON.stringify(body)).toBe(field);
      expect(answer.error?.message).toContain(field.split('\0')[0]);
    };
    for (const packageName of NAMES) await expectRefusal({ packageName, name: 'x' }, 'packageName');
    for (const version of VERSIONS) await expectRefusal({ packageName: 'basic', name: 'x', version }, 'version');
    for (const name of ['', 'a\0b', 'a\nb', 7, null, 'x'.repeat(300)])
      await expectRefusal({ packageName: 'basic', name }, 'name');
    for (const params of [[], 'x', 1]) await expectRefusal({ packageName: 'basic', name: 'x', params }, 'params');
    for (const key of [
      'NODE_OPTIONS',
      'LD_PRELOAD',
      'PATH',
      'Path',
      'npm_config_registry',
      'NODE_PATH',
      'HTTP_PROXY',
      'http_proxy',
      'NODE_EXTRA_CA_CERTS',
      'BASH_ENV',
      'GIT_SSH_COMMAND',
      'A=B',
      'A\0B',
      'A B',
      '$(id)',
      '',
      '1A',
      '__proto__x-',
      'DYLD_INSERT_LIBRARIES',
      'PYTHONPATH',
      'HOME',
    ]) {
      await expectRefusal({ packageName: 'basic', name: 'x', env: { [key]: 'v' } }, `env.${key}`);
    }
    await expectRefusal({ packageName: 'basic', name: 'x', env: { BIG: 'x'.repeat(100_000) } }, 'env.BIG');
    await expectRefusal({ packageName: 'basic', name: 'x', env: { A: 'x\0y' } }, 'env.A');
    await expectRefusal({ packageName: 'basic', name: 'x', env: { A: 1 } }, 'env.A');
    await expectRefusal({ packageName: 'basic', name: 'x', timeoutMs: 1e9 }, 'timeoutMs');
    await expectRefusal({ name: 'x' }, 'packageName');
    expect(registry.requests.length).toBe(before);
  });

  it('refuses bodies that are no object, and never crashes', async () => {
    const deep = `${'[{"a":'.repeat(5_000)}1${'}]'.repeat(5_000)}`;
    const wide = `{"packageName":"basic","name":"echo","params":{"a":[${'0,'.repeat(90_000)}0]}}`;
    for (const body of [
      'null',
      '[]',
      '"text"',
      '1',
      'true',
      '',
      ' ',
      '{',
      '{"a":1,}',
      '\ufeff{}',
      deep,
      '{"packageName":"basic","packageName":"x","name":"y"}',
      'undefined',
      '{"a":\u0000}',
    ]) {
      const { status, body: answer } = await post('/execute-tool', body);
      expect(status, body.slice(0, 40)).toBe(400);
      expect(answer.error?.code).toBe('INVALID_REQUEST');
    }
    const invalid = await fetch(`${url}/execute-tool`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
    });
    expect(invalid.status).toBe(400);
    expect((await post('/execute-tool', wide)).status).toBe(200);
    expect(
      (await post('/execute-tool', '{"__proto__":{"polluted":1},"packageName":"basic","name":"echo","params":{"a":1}}'))
        .status,
    ).toBe(200);
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    const proto = await post(
      '/execute-tool',
      '{"packageName":"basic","name":"echo","params":{"a":1,"__proto__":{"x":1},"constructor":2}}',
    );
    expect(JSON.stringify(proto.body)).toContain('"__proto__":{"x":1}');
  });

  it('refuses other kinds of bodies: plain text, forms, compressed', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/json',
      'application/json-seq',
    ]) {
      expect(
        (await ask('/execute-tool', { method: 'POST', headers: { 'content-type': type }, body: '{}' })).status,
        type,
      ).toBe(415);
    }
    expect((await post('/execute-tool', '{}', { 'content-encoding': 'gzip' })).status).toBe(415);
  });

  it('refuses a body over the limit while it arrives, chunked or not', async () => {
    const size = 5_000_000;
    const declared = await raw(
      `POST /execute-tool HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${size}\r\n\r\n{`,
    );
    expect(declared).toContain('413');
    expect(declared).toContain('PAYLOAD_TOO_LARGE');
    const chunk = `${(100_000).toString(16)}\r\n${'x'.repeat(100_000)}\r\n`;
    const chunked = await raw(
      `POST /execute-tool HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk.repeat(3)}`,
    );
    expect(chunked).toContain('413');
  });

  it('answers what is no well-formed HTTP in the same words', async () => {
    const head = 'POST /execute-tool HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    for (const text of [
      'garbage\r\n\r\n',
      `${head}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`,
      `${head}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`,
      `${head}Content-Length: -1\r\n\r\n`,
      `GET /health HTTP/1.1\r\nHost: localhost\r\nX: a\r\n folded\nbad\r\n\r\n`,
      'GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n',
    ]) {
      const answer = await raw(text);
      expect(answer, text).toMatch(/^HTTP\/1\.1 4/);
      expect(answer.toLowerCase(), text).toContain('access-control-allow-origin: *');
      expect(answer, text).toContain('"success":false');
    }
    expect(await raw(`GET /health HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(40_000)}\r\n\r\n`)).toContain('431');
  });

  it('serves nothing under odd paths', async () => {
    for (const path of [
      '//execute-tool',
      '/api/../execute-tool',
      '/execute-tool/',
      '/EXECUTE-TOOL',
      '/api/api/health',
      '/executions/',
      '/executions/..%2f..',
      '/.git/config',
      '/health%00',
    ]) {
      const answer = await raw(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
      expect(answer, path).toMatch(/^HTTP\/1\.1 40[04]/);
    }
    expect((await ask('/health', { method: 'POST', headers: { 'x-http-method-override': 'GET' } })).status).toBe(404);
    expect((await ask('/executions/nope')).status).toBe(404);
    expect((await ask('/executions/nope/events')).status).toBe(404);
    expect((await ask('/executions/nope', { method: 'DELETE' })).status).toBe(404);
  });
});

describe('who may ask', () => {
  it('wants the token for everything but health, info and preflights', async () => {
    const request = { packageName: 'basic', name: 'echo', params: { a: 1 } };
    const status = async (headers: Record<string, string>, path = '/execute-tool'): Promise<number> =>
      (await post(path, request, headers, keyed)).status;
    expect(await status({})).toBe(401);
    for (const authorization of [
      'Basic cmlnaHQta2V5',
      'Bearer',
      'Bearer wrong',
      `Bearer ${KEY}x`,
      `Bearer ${KEY} x`,
      KEY,
      `Token ${KEY}`,
      `Bearer ${KEY.toUpperCase()}`,
    ])
      expect(await status({ authorization }), authorization).toBe(401);
    expect(await status({}, `/execute-tool?token=${KEY}`)).toBe(401);
    expect(await status({ authorization: `Bearer ${KEY}` })).toBe(200);
    expect(await status({ authorization: `bearer   ${KEY}  ` })).toBe(200);
    for (const path of ['/health', '/info', '/api/health']) expect((await ask(path, { base: keyed })).status).toBe(200);
    expect((await ask('/execute-tool', { base: keyed, method: 'OPTIONS' })).status).toBe(200);
    expect((await ask('/openapi.json', { base: keyed })).status).toBe(401);
    expect((await ask('/nothing', { base: keyed })).status).toBe(401);
    const closed = await serve({ apiKey: KEY, authScope: 'all' });
    expect((await ask('/info', { base: closed })).status).toBe(401);
    expect((await ask('/health', { base: closed })).status).toBe(200);
  });

  it('refuses before it reads the body, and refuses two tokens', async () => {
    const early = await raw(
      'POST /execute-tool HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n',
      keyed,
    );
    expect(early).toContain('401');
    expect(early).toContain('Invalid or missing API key');
    const twice = await raw(
      `POST /execute-tool HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\nAuthorization: Bearer x\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      keyed,
    );
    expect(twice).toContain('401');
  });

  it('refuses pages of others and names that are not its own, without a key', async () => {
    const request = { packageName: 'basic', name: 'echo', params: { a: 1 } };
    for (const origin of ['https://evil.example', 'null', 'http://localhost.evil.example'])
      expect((await post('/execute-tool', request, { origin })).status, origin).toBe(403);
    expect((await post('/execute-tool', request, { origin: 'http://localhost:3000' })).status).toBe(200);
    expect(
      (await post('/execute-tool', request, { origin: 'https://page.example', authorization: `Bearer ${KEY}` }, keyed))
        .status,
    ).toBe(200);
    for (const host of ['evil.example', '127.0.0.1.evil.example', ''])
      expect(await raw(`GET /health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`), host).toMatch(
        /^HTTP\/1\.1 40[03]/,
      );
    const preflight = await ask('/execute-tool', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-private-network': 'true' },
    });
    expect(preflight.headers.get('access-control-allow-private-network')).toBeNull();
  });
});

describe('streams', () => {
  const client = new ToolClient(url);

  it('sends events and exactly one result, the body of the synchronous call', async () => {
    const events = [];
    for await (const event of client.stream({ packageName: 'basic', name: 'wait', params: { ms: 300 } }))
      events.push(event);
    const names = events.map(({ event }) => event);
    expect(names[0]).toBe('start');
    expect(names.filter((name) => name === 'result')).toEqual(['result']);
    expect(names.at(-1)).toBe('result');
    expect(names).toContain('phase');
    expect(names).toContain('log');
    expect(events.at(-1)?.data).toMatchObject({ success: true, output: 'waited', executionId: expect.any(String) });
    expect(events.map(({ id }) => id)).toEqual([...events.keys()].map((index) => index + 1));
    const response = await fetch(`${url}/execute-tool`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ packageName: 'basic', name: 'wait', params: { ms: 400 } }),
    });
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(await response.text()).toContain('\n: still here\n');
  });

  it('answers with JSON when it is refused before it starts', async () => {
    const refused = await post('/execute-tool', { packageName: '..' }, { accept: 'text/event-stream' });
    expect(refused.status).toBe(400);
    expect(refused.headers.get('content-type')).toContain('application/json');
  });

  it('resumes after the last event that was seen, and cancels when nobody comes back', async () => {
    const request = { packageName: 'basic', name: 'wait', params: { ms: 900 } };
    let id = '';
    for await (const { event, data } of client.stream(request)) {
      if (event === 'start') id = String(Reflect.get(Object(data), 'executionId'));
      if (event === 'log') break;
    }
    const rest = [];
    for await (const event of client.events(id, 2)) rest.push(event);
    expect(rest[0]?.id).toBe(3);
    expect(rest.at(-1)).toMatchObject({ event: 'result', data: { success: true, output: 'waited' } });
    let pid = 0;
    for await (const { event, data } of client.stream({ ...request, params: { ms: 60_000 } })) {
      if (event === 'start') id = String(Reflect.get(Object(data), 'executionId'));
      if (event === 'log') {
        pid = Number(/pid (\d+)/.exec(JSON.stringify(data))?.[1]);
        break;
      }
    }
    expect(isRunning(pid)).toBe(true);
    await expect.poll(async () => (await client.status(id)).status).toBe('cancelled');
    expect(isRunning(pid)).toBe(false);
  });

  it('cancels a synchronous call whose client disconnects', async () => {
    const leaving = new AbortController();
    const call = fetch(`${url}/execute-tool`, {
      method: 'POST',
      signal: leaving.signal,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ packageName: 'basic', name: 'wait', params: { ms: 60_000 } }),
    });
    call.catch(() => {});
    await expect.poll(() => executor.stats().executions.running).toBeGreaterThan(0);
    leaving.abort();
    await expect.poll(() => executor.stats().executions.running).toBe(0);
  });
});

describe('idempotency', () => {
  it('is the same execution for the same key and body, and a conflict for another', async () => {
    const key = { 'idempotency-key': 'k1' };
    const first = await post('/execute-tool', { packageName: 'basic', name: 'echo', params: { a: 1, b: 2 } }, key);
    const again = await post('/execute-tool', { name: 'echo', packageName: 'basic', params: { b: 2, a: 1 } }, key);
    expect(again.body['executionId']).toBe(first.body['executionId']);
    const other = await post('/execute-tool', { packageName: 'basic', name: 'echo', params: { a: 3 } }, key);
    expect(other.status).toBe(409);
    expect(other.body.error?.code).toBe('IDEMPOTENCY_CONFLICT');
    const queued = await post(
      '/execute-async',
      { packageName: 'basic', name: 'echo', params: { a: 1 } },
      { 'idempotency-key': 'k2' },
    );
    expect(
      (
        await post(
          '/execute-async',
          { packageName: 'basic', name: 'echo', params: { a: 1 } },
          { 'idempotency-key': 'k2' },
        )
      ).body['executionId'],
    ).toBe(queued.body['executionId']);
    expect(
      (
        await post(
          '/execute-async',
          { packageName: 'basic', name: 'echo', params: { a: 2 } },
          { 'idempotency-key': 'k2' },
        )
      ).status,
    ).toBe(409);
  });
});

describe('a synchronous key', () => {
  const request = { packageName: 'basic', name: 'wait', params: { ms: 1_500 } };
  const call = (key: string, signal?: AbortSignal, more: Record<string, string> = {}) =>
    fetch(`${url}/execute-tool`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key, ...more },
      body: JSON.stringify(request),
      ...(signal === undefined ? {} : { signal }),
    });
  const settle = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

  it('keeps an execution going for as long as one of those who sent it waits', async () => {
    const leaving = new AbortController();
    const first = call('shared', leaving.signal).catch(() => {});
    await expect.poll(() => executor.stats().executions.running).toBeGreaterThan(0);
    const second = call('shared').then((response) => response.json());
    await settle(200);
    leaving.abort();
    await first;
    expect(await second).toMatchObject({ success: true, output: 'waited' });
  });

  it('keeps it going for one who waits when the one who reads its events leaves, and the other way round', async () => {
    for (const [kind, early, late] of [
      ['reader leaves', { accept: 'text/event-stream' }, {}],
      ['caller leaves', {}, { accept: 'text/event-stream' }],
    ] as const) {
      const leaving = new AbortController();
      const first = call(kind, leaving.signal, early);
      first.then((response) => response.text()).catch(() => {});
      await expect.poll(() => executor.stats().executions.running).toBeGreaterThan(0);
      const second = call(kind, undefined, late).then((response) => response.text());
      await settle(200);
      leaving.abort();
      await first.catch(() => {});
      expect(await second, kind).toContain('"output":"waited"');
    }
  });

  it('is free again after an execution that was cancelled, or that is to be tried again', async () => {
    const leaving = new AbortController();
    const first = call('left', leaving.signal).catch(() => {});
    await expect.poll(() => executor.stats().executions.running).toBeGreaterThan(0);
    leaving.abort();
    await first;
    expect(await (await call('left')).json()).toMatchObject({ success: true, output: 'waited' });
    registry.broken = 503;
    const unreachable = { packageName: 'not-there-yet', name: 'tool' };
    const key = { 'idempotency-key': 'later' };
    expect((await post('/execute-tool', unreachable, key)).body).toMatchObject({ success: false, retryable: true });
    registry.broken = undefined;
    registry.tool('not-there-yet', 'export const tool = { execute: () => 1 };');
    expect((await post('/execute-tool', unreachable, key)).body).toMatchObject({ success: true, output: 1 });
  });

  it('is that of a whole batch, and of nobody else', async () => {
    const echo = (a: number) => ({ packageName: 'basic', name: 'echo', params: { a } });
    const key = { 'idempotency-key': 'batch' };
    const ids = ({ body }: Answer): unknown[] =>
      (body['results'] as { readonly executionId: string }[]).map(({ executionId }) => executionId);
    const first = await post('/execute-batch', { items: [echo(1), echo(2), echo(1)] }, key);
    expect(first.body).toMatchObject({ success: true, results: [{ output: { a: 1 } }, { output: { a: 2 } }, {}] });
    expect(new Set(ids(first)).size).toBe(3);
    expect(ids(await post('/execute-batch', { items: [echo(1), echo(2), echo(1)] }, key))).toEqual(ids(first));
    expect((await post('/execute-batch', { items: [echo(1)] }, key)).status).toBe(409);
    const asked = (principal: string) => executor.execute(echo(1), { idempotencyKey: 'mine', principal });
    const { executionId } = await asked('a');
    expect((await asked('a')).executionId).toBe(executionId);
    expect((await asked('b')).executionId).not.toBe(executionId);
  });
});

describe('async executions', () => {
  const client = new ToolClient(url);

  it('accepts, answers later, and can be cancelled', async () => {
    const accepted = await post('/api/execute-async', { packageName: 'basic', name: 'echo', params: { a: 5 } });
    expect(accepted.status).toBe(202);
    const id = String(accepted.body['executionId']);
    expect(accepted.body['statusUrl']).toBe(`/api/executions/${id}`);
    await expect.poll(async () => (await client.status(id)).status).toBe('succeeded');
    expect((await client.status(id)).result).toMatchObject({ success: true, output: { a: 5 } });
    const slow = await client.executeAsync({ packageName: 'basic', name: 'wait', params: { ms: 60_000 } });
    await expect.poll(async () => (await client.status(slow.executionId)).status).toBe('running');
    expect((await client.cancel(slow.executionId)).status).toBe('cancelled');
    const events = [];
    for await (const event of client.events(id)) events.push(event.event);
    expect(events.at(-1)).toBe('result');
  });

  it('delivers signed webhooks, again and again until they arrive', async () => {
    const received: { readonly headers: IncomingMessage['headers']; readonly body: string }[] = [];
    const hook = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      request.on('end', () => {
        received.push({ headers: request.headers, body });
        if (received.length === 1) response.writeHead(500).end();
        else if (received.length === 2) response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end();
        else response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
    const target = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
    const secret = `whsec_${Buffer.from('0123456789abcdef0123').toString('base64')}`;
    const { executionId } = await client.executeAsync({
      packageName: 'basic',
      name: 'echo',
      params: { a: 6 },
      callback: { url: target, secret },
    });
    await expect.poll(async () => (await client.status(executionId)).callback?.status).toBe('delivered');
    expect(received.length).toBe(3);
    const last = received.at(-1);
    const id = String(last?.headers['webhook-id']);
    const signature = createHmac('sha256', '0123456789abcdef0123')
      .update(`${id}.${String(last?.headers['webhook-timestamp'])}.${last?.body}`)
      .digest('base64');
    expect(last?.headers['webhook-signature']).toBe(`v1,${signature}`);
    expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(JSON.parse(last?.body ?? '')).toMatchObject({
      type: 'execution.succeeded',
      data: { success: true, output: { a: 6 }, executionId },
    });
    await new Promise((resolve) => hook.close(resolve));
  });

  it('refuses webhooks to private, link-local and metadata addresses', async () => {
    for (const target of [
      'http://10.0.0.1/',
      'http://169.254.169.254/latest',
      'http://[fd00:ec2::254]/',
      'http://[::ffff:10.0.0.1]/',
      'http://0x0a.1:80/x',
      'http://metadata.google.internal/',
      'http://167772161/',
      'ftp://x/',
      'http://user:pass@example.com/',
      'nonsense',
    ]) {
      const refused = await post('/execute-async', { packageName: 'basic', name: 'echo', callback: { url: target } });
      expect(refused.status, target).toBe(400);
      expect(refused.body.error?.details?.['field'], target).toBe('callback.url');
    }
  });
});

describe('validation', () => {
  it('answers from metadata alone, and more deeply from the sandbox', async () => {
    const shallow = await post('/validate-tool', { packageName: 'basic', name: 'echo' });
    expect(shallow.body).toMatchObject({
      success: true,
      valid: false,
      foundBy: 'declared',
      license: 'MIT',
      installScripts: false,
      missingEnv: ['TOKEN'],
      resolved: { version: '1.0.0', integrity: expect.stringContaining('sha512-') },
      description: 'From the manifest.',
    });
    const deep = await post('/validate-tool', {
      packageName: 'basic',
      name: 'echo',
      deep: true,
      params: { a: 'text' },
      env: { TOKEN: 'x' },
    });
    expect(deep.body).toMatchObject({
      valid: false,
      foundBy: 'export',
      description: 'Echoes.',
      inputSchema: { type: 'object' },
      params: { fit: false },
      missingEnv: [],
    });
    expect(
      (
        await post('/validate-tool', {
          packageName: 'basic',
          name: 'echo',
          deep: true,
          params: { a: 1 },
          env: { TOKEN: 'x' },
        })
      ).body,
    ).toMatchObject({ valid: true, params: { fit: true } });
    expect((await post('/validate-tool', { packageName: 'basic', name: 'nope', deep: true })).body).toMatchObject({
      valid: false,
      problems: [{ code: 'TOOL_NOT_FOUND' }],
    });
    expect((await post('/load-and-describe', { packageName: 'basic', name: 'echo' })).body).toMatchObject({
      success: true,
      tool: { exportName: 'echo', description: 'Echoes.', inputSchema: { type: 'object' } },
    });
    expect((await post('/load-and-describe', { packageName: 'basic', name: 'nope' })).body).toMatchObject({
      success: false,
      error: { code: 'TOOL_NOT_FOUND' },
    });
  });

  it('makes a schema once that is made on demand', async () => {
    registry.tool(
      'lazy',
      `let made = 0;
       export const tool = {
         inputSchema: () => ({ type: 'object', required: Array.from({ length: made++ }, (_, at) => 'x' + at) }),
         execute: () => 1,
       };`,
    );
    expect(
      (await post('/validate-tool', { packageName: 'lazy', name: 'tool', deep: true, params: {} })).body,
    ).toMatchObject({ valid: true, inputSchema: { required: [] }, params: { fit: true } });
  });

  it('does not blame a tool for a request that is no good, nor for an executor that is busy', async () => {
    const deep = { packageName: 'basic', name: 'echo', deep: true, env: { TOKEN: 'x' } };
    const late = await post('/validate-tool', { ...deep, timeoutMs: 10_000_000 });
    expect(late.status).toBe(400);
    expect(late.body.error).toMatchObject({ code: 'INVALID_REQUEST', details: { field: 'timeoutMs' } });
    await using tiny = createToolExecutor({
      cacheDir,
      registry: registry.url,
      limits: { maxExecutions: 1, maxQueued: 0, warmChildren: 0 },
    });
    // A place for the request, and none for its child.
    const waiting = tiny.execute({ packageName: 'basic', name: 'wait', params: { ms: 2_000 } });
    await expect.poll(() => tiny.stats().executions.running).toBe(1);
    await expect(tiny.validate(deep)).rejects.toMatchObject({ failure: { code: 'OVERLOADED' } });
    await waiting;
  });

  it('asks nobody when only what is at hand may be used', async () => {
    registry.tool('remembered', 'export const tool = { execute: () => 1 };', { manifest: { license: 'ISC' } });
    const only = { 'x-tpmjs-cache-control': 'only-if-cached' };
    const request = { packageName: 'remembered', name: 'tool' };
    await post('/execute-tool', request);
    const before = registry.requests.length;
    expect((await post('/validate-tool', request, only)).body).toMatchObject({
      success: false,
      error: { code: 'NOT_CACHED' },
    });
    expect(registry.requests.length).toBe(before);
    await post('/validate-tool', request);
    registry.broken = 503;
    expect((await post('/validate-tool', request, only)).body).toMatchObject({ success: true, license: 'ISC' });
    registry.broken = undefined;
  });
});

describe('batches', () => {
  it('keeps the order of the items, and one bad item never fails the rest', async () => {
    const { body } = await post('/execute-batch', {
      items: [
        { packageName: 'basic', name: 'wait', params: { ms: 200 } },
        { packageName: '../x', name: 'y' },
        7,
        { id: 'last', packageName: 'basic', name: 'echo', params: { a: 1 } },
      ],
    });
    const results = body['results'] as Record<string, unknown>[];
    expect(body['success']).toBe(false);
    expect(results.map((result) => result['success'])).toEqual([true, false, false, true]);
    expect(results[1]).toMatchObject({ error: { code: 'INVALID_REQUEST' } });
    expect(results[3]).toMatchObject({ id: 'last', output: { a: 1 } });
  });

  it('wires outputs to inputs in dag mode, and stops on errors when asked to', async () => {
    const { body } = await post('/execute-batch', {
      mode: 'dag',
      items: [
        {
          id: 'c',
          packageName: 'basic',
          name: 'echo',
          params: { a: { $from: 'b', path: '/list/0' }, all: { $from: 'a' } },
        },
        { id: 'b', packageName: 'basic', name: 'double', params: { n: { $from: 'a', path: '/n' } } },
        { id: 'a', packageName: 'basic', name: 'double', params: { n: 2 } },
        { id: 'bad', packageName: 'basic', name: 'fail' },
        { id: 'after', packageName: 'basic', name: 'echo', dependsOn: ['bad'] },
        { id: 'x', packageName: 'basic', name: 'echo', dependsOn: ['y'] },
        { id: 'y', packageName: 'basic', name: 'echo', dependsOn: ['x'] },
        { id: 'lost', packageName: 'basic', name: 'echo', dependsOn: ['nobody'] },
        { id: 'nowhere', packageName: 'basic', name: 'echo', params: { v: { $from: 'a', path: '/missing' } } },
      ],
    });
    const results = body['results'] as {
      readonly success: boolean;
      readonly output?: unknown;
      readonly error?: { readonly code: string };
    }[];
    expect(results[0]?.output).toEqual({ a: 4, all: { n: 4, list: [2] } });
    expect(results.slice(3).map((result) => result.error?.code)).toEqual([
      'TOOL_EXECUTION_ERROR',
      'DEPENDENCY_FAILED',
      'INVALID_REQUEST',
      'INVALID_REQUEST',
      'INVALID_REQUEST',
      'INVALID_REQUEST',
    ]);
    const stopped = await post('/execute-batch', {
      mode: 'sequential',
      stopOnError: true,
      items: [
        { packageName: 'basic', name: 'fail' },
        { packageName: 'basic', name: 'echo' },
      ],
    });
    expect((stopped.body['results'] as { readonly error?: { readonly code: string } }[])[1]?.error?.code).toBe(
      'DEPENDENCY_FAILED',
    );
    expect((await post('/execute-batch', { items: [] })).status).toBe(400);
    expect((await post('/execute-batch', { items: Array.from({ length: 101 }, () => ({})) })).status).toBe(400);
  });
});

describe('a batch that grows', () => {
  const MIB = 2 ** 20;

  it('has an item refused that would take in too much, and leaves no process behind', async () => {
    registry.tool(
      'grower',
      `export const big = { execute: ({ bytes }) => 'x'.repeat(bytes) };
       export const count = { execute: ({ x }) => x.length };`,
    );
    await using bounded = createToolExecutor({
      cacheDir,
      registry: registry.url,
      limits: { warmChildren: 0, maxBatchResultBytes: 25 * MIB },
    });
    const big = { packageName: 'grower', name: 'big', params: { bytes: 9 * MIB } };
    const wired = await bounded.batch({
      mode: 'dag',
      items: [
        { id: 'a', ...big },
        {
          id: 'b',
          packageName: 'grower',
          name: 'count',
          params: { x: Array.from({ length: 60 }, () => ({ $from: 'a' })) },
        },
        { id: 'c', packageName: 'grower', name: 'count', params: { x: [{ $from: 'a' }, { $from: 'a' }] } },
      ],
    });
    expect(wired.results.slice(1)).toMatchObject([
      { success: false, error: { code: 'INVALID_REQUEST', details: { field: 'params', limit: 'maxWiredBytes' } } },
      { success: true, output: 2 },
    ]);
    const many = await bounded.batch({ mode: 'sequential', items: [big, big, big] });
    expect(many.results).toMatchObject([
      { success: true },
      { success: true },
      { success: false, error: { code: 'TOOL_EXECUTION_ERROR', details: { limit: 'maxBatchResultBytes' } } },
    ]);
  });

  it('ends the child of a job that cannot be sent', async () => {
    const pids: number[] = [];
    const inner = createSpawner();
    await using bounded = createToolExecutor({
      cacheDir,
      registry: registry.url,
      spawner: {
        spawn: async (request) => {
          const child = await inner.spawn(request);
          pids.push(child.pid);
          return child;
        },
        dispose: () => inner.dispose(),
        [Symbol.asyncDispose]: () => inner.dispose(),
      },
      limits: { warmChildren: 0 },
    });
    // What JSON has no form for cannot come over HTTP, but a program may hand it over.
    const response = await bounded.execute({ packageName: 'basic', name: 'echo', params: { a: 1n } });
    expect(response).toMatchObject({ success: false, error: { code: 'INTERNAL_ERROR' } });
    expect(pids.length).toBeGreaterThan(0);
    expect(pids.filter(isRunning)).toEqual([]);
    await inner.dispose();
  });
});

describe('load', () => {
  it('answers 503 with Retry-After beyond its queue', async () => {
    await using tiny = createToolExecutor({
      cacheDir,
      registry: registry.url,
      limits: { maxExecutions: 1, maxQueued: 1, retryAfterSeconds: 3, warmChildren: 0 },
    });
    const base = await serve({}, tiny);
    const request = { packageName: 'basic', name: 'wait', params: { ms: 700 } };
    const answers = await Promise.all(Array.from({ length: 5 }, () => post('/execute-tool', request, {}, base)));
    const refused = answers.filter(({ status }) => status === 503);
    expect(answers.filter(({ status }) => status === 200).length).toBe(2);
    expect(refused.length).toBe(3);
    expect(refused[0]?.headers.get('retry-after')).toBe('3');
    expect(refused[0]?.body).toMatchObject({ success: false, error: { code: 'OVERLOADED' }, retryable: true });
  });

  it('answers /health while packages are installed', async () => {
    for (let index = 0; index < 10; index += 1)
      registry.tool(`cold-${index}`, 'export const tool = { execute: () => 1 };', {
        files: Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`f${at}.js`, 'x'.repeat(2_000)])),
      });
    let busy = true;
    const installs = Promise.all(
      Array.from({ length: 10 }, (_, index) => post('/execute-tool', { packageName: `cold-${index}`, name: 'tool' })),
    ).finally(() => {
      busy = false;
    });
    const times: number[] = [];
    while (busy) {
      const started = performance.now();
      await ask('/health');
      times.push(performance.now() - started);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    expect((await installs).map(({ body }) => body['output'])).toEqual(Array.from({ length: 10 }, () => 1));
    times.sort((a, b) => a - b);
    expect(times.at(Math.floor(times.length * 0.5)) ?? 0).toBeLessThan(1_000);
  });
});

it('reports an unreachable or foreign server with its own code', async () => {
  await expect(new ToolClient('http://127.0.0.1:9').health()).rejects.toMatchObject({ code: 'TOOL_SERVER' });
  await expect(new ToolClient(keyed).execute({ packageName: 'basic', name: 'echo' })).rejects.toMatchObject({
    code: 'TOOL_SERVER',
    facts: { status: 401, code: 'UNAUTHORIZED' },
  });
  await expect(
    new ToolClient(keyed, { apiKey: KEY }).execute({ packageName: 'basic', name: 'echo' }),
  ).resolves.toMatchObject({ success: true });
});

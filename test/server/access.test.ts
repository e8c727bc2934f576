import { request as httpRequest } from 'node:http';
import { connect as connectTcp } from 'node:net';
import { describe, expect, it } from 'vitest';
import {
  C_MODULES,
  connect,
  createServer,
  hashKey,
  KEY,
  opened,
  type Started,
  SUBPROTOCOL,
  scratch,
  start,
  subprotocolOf,
  until,
} from './start.js';

const keys = [{ name: 'default', hash: hashKey(KEY) }];
const bearer = { authorization: `Bearer ${KEY}` };

/** A request with headers that `fetch` would not send. */
function raw(
  { url }: Started,
  path: string,
  headers: Record<string, string> = {},
  method = 'GET',
): Promise<{ status: number; headers: Record<string, unknown> }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(`${url}${path}`, { method, headers, agent: false }, (response) => {
      response.resume();
      resolve({ status: response.statusCode ?? 0, headers: response.headers });
    });
    request.on('error', reject);
    request.end(method === 'POST' ? '{"code":"1"}' : undefined);
  });
}

/** Sends bytes as they are and returns all that comes back. */
function bytes({ url }: Started, text: string): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connectTcp(Number(port), hostname, () => socket.end(text));
    let answer = '';
    socket.on('data', (chunk) => {
      answer += String(chunk);
    });
    socket.on('error', () => {});
    socket.on('close', () => resolve(answer));
  });
}

describe('without a key', () => {
  it('an address that others can reach is refused', async () => {
    for (const host of ['0.0.0.0', '::', '192.0.2.1']) {
      await expect(createServer({ host, cacheDir: scratch() })).rejects.toMatchObject({ code: 'SERVER_CONFIG' });
    }
  });

  it('pages of others may read /health and /info and nothing else', async () => {
    const started = await start();
    for (const origin of ['https://evil.example', 'null', 'http://localhost:3000', 'http://127.0.0.1']) {
      for (const path of ['/health', '/info', '/api/health', '/api/info']) {
        const answer = await raw(started, path, { origin });
        expect(answer.status, `${origin} ${path}`).toBe(200);
        expect(answer.headers['access-control-allow-origin']).toBe('*');
      }
      for (const path of ['/readyz', '/metrics', '/executions', '/events', '/run/types', '/wasm', '/openapi.json']) {
        const answer = await raw(started, path, { origin });
        expect(answer.status, `${origin} ${path}`).toBe(403);
        expect(answer.headers['access-control-allow-origin']).toBeUndefined();
      }
      const posted = await raw(started, '/run', { origin, 'content-type': 'text/plain' }, 'POST');
      expect(posted.status).toBe(403);
      expect(await connect(started.url, '/exec', { origin })).toBe(403);
      expect(await connect(started.url, '/guest', { origin })).toBe(403);
    }
  });

  it('a browser that hides its page is not let in either', async () => {
    const started = await start();
    expect((await raw(started, '/executions', { 'sec-fetch-site': 'cross-site' })).status).toBe(403);
    expect((await raw(started, '/executions', { 'sec-fetch-site': 'none' })).status).toBe(200);
    expect(await connect(started.url, '/exec', { 'sec-fetch-site': 'cross-site' })).toBe(403);
  });

  it('its own pages and those that are named may use it', async () => {
    const started = await start({ allowOrigin: ['https://app.example'] });
    const own = await raw(started, '/executions', { origin: started.url });
    expect(own.status).toBe(200);
    const named = await raw(started, '/executions', { origin: 'https://app.example' });
    expect(named.headers).toMatchObject({ 'access-control-allow-origin': 'https://app.example', vary: 'Origin' });
    expect(await connect(started.url, '/exec', { origin: 'https://app.example' })).toBeTypeOf('object');
  });

  it('a name that points here from elsewhere is refused, also for upgrades', async () => {
    const started = await start({ allowHost: ['sallyport.internal'] });
    for (const path of ['/health', '/info', '/run/types']) {
      expect((await raw(started, path, { host: 'evil.example' })).status).toBe(403);
    }
    expect((await raw(started, '/health', { host: 'sallyport.internal:99' })).status).toBe(200);
    expect((await raw(started, '/health', { host: '[::1]:7420' })).status).toBe(200);
    expect(await connect(started.url, '/exec', { host: 'evil.example' })).toBe(403);
  });
});

describe('with a key', () => {
  it('everything needs it but /health, /readyz, /info and preflights', async () => {
    const started = await start({ keys });
    for (const path of ['/health', '/api/health', '/readyz', '/info', '/api/info']) {
      expect((await raw(started, path)).status, path).toBe(200);
    }
    for (const path of [
      '/metrics',
      '/executions',
      '/events',
      '/run/types',
      '/wasm',
      '/exec',
      '/openapi.json',
      '/nothing',
    ]) {
      expect((await raw(started, path)).status, path).toBe(401);
    }
    for (const path of [
      '/run',
      '/execute-tool',
      '/api/execute-tool',
      '/wasm/a/b',
      '/execute-async',
      '/execute-batch',
    ]) {
      expect((await raw(started, path, {}, 'POST')).status, path).toBe(401);
    }
    for (const path of ['/run', '/execute-tool', '/executions']) {
      const preflight = await raw(
        started,
        path,
        { origin: 'https://a.example', 'access-control-request-method': 'POST' },
        'OPTIONS',
      );
      expect(preflight.status).toBeLessThan(300);
      expect(preflight.headers['access-control-allow-origin']).toBe('*');
      expect(String(preflight.headers['access-control-allow-headers'])).toContain('Authorization');
    }
    expect((await raw(started, '/executions', bearer)).status).toBe(200);
  });

  it('takes it in one Authorization header only, and never from a URL', async () => {
    const started = await start({ keys });
    const good = [`Bearer ${KEY}`, `bearer ${KEY}`, `BEARER   ${KEY} `];
    const bad = ['', 'Bearer', `Basic ${KEY}`, `Bearer ${KEY}x`, `Bearer ${KEY.slice(1)}`, `Bearer ${KEY} more`, KEY];
    for (const authorization of good) expect((await raw(started, '/executions', { authorization })).status).toBe(200);
    for (const authorization of bad) expect((await raw(started, '/executions', { authorization })).status).toBe(401);
    for (const name of ['token', 'api_key', 'key', 'access_token', 'authorization']) {
      expect((await raw(started, `/executions?${name}=${KEY}`)).status).toBe(401);
      expect(await connect(started.url, `/exec?${name}=${KEY}`)).toBe(401);
    }
    expect((await raw(started, '/executions', { cookie: `token=${KEY}` })).status).toBe(401);
    const twice = await bytes(
      started,
      `GET /executions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${KEY}\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n`,
    );
    expect(twice).toContain('401');
  });

  it('says in words why a request without a Host is refused', async () => {
    const started = await start({ keys });
    const answer = await bytes(started, 'GET /health HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(answer).toContain('400 Bad Request');
    expect(answer).toContain('"code":"INVALID_REQUEST","message":"there is no Host header"');
  });

  it('refuses before a body is read', async () => {
    const started = await start({ keys });
    const answer = await bytes(
      started,
      'POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 999999999\r\n\r\n',
    );
    expect(answer).toContain('401 Unauthorized');
  });

  it('lets WebSockets send it as a header or as a subprotocol, which is never said back', async () => {
    const { url } = await start({ keys });
    expect(await connect(url, '/exec')).toBe(401);
    expect(await connect(url, '/exec', bearer)).toBeTypeOf('object');
    const socket = await connect(url, '/exec', {}, [SUBPROTOCOL, subprotocolOf(KEY)]);
    if (typeof socket === 'number') throw new Error(`refused with ${socket}`);
    expect(socket.protocol).toBe(SUBPROTOCOL);
    expect(await connect(url, '/exec', {}, [SUBPROTOCOL, subprotocolOf('wrong')])).toBe(401);
    expect(await connect(url, '/exec', {}, [subprotocolOf(KEY)])).toBe(400);
    // Cookies are what a foreign page could make a browser send.
    expect(await connect(url, '/exec', { cookie: `key=${KEY}`, origin: 'https://evil.example' })).toBe(401);
    expect(await connect(url, '/exec', { ...bearer, origin: 'https://app.example' })).toBeTypeOf('object');
  });

  it('lets only named pages in when some are named', async () => {
    const started = await start({ keys, allowOrigin: ['https://app.example'] });
    expect((await raw(started, '/executions', { ...bearer, origin: 'https://app.example' })).status).toBe(200);
    expect((await raw(started, '/executions', { ...bearer, origin: 'https://evil.example' })).status).toBe(403);
    expect(await connect(started.url, '/exec', { ...bearer, origin: 'https://evil.example' })).toBe(403);
  });

  it('keeps /info to itself when told', async () => {
    const started = await start({ keys, info: 'guarded' });
    expect((await raw(started, '/info')).status).toBe(401);
    expect((await raw(started, '/info', bearer)).status).toBe(200);
  });
});

describe('several keys', () => {
  const ci = 'the-key-of-the-build-server';
  const ops = 'the-key-of-the-operators-of-it';

  it('have boundaries, rates, concurrency and policies of their own, and see only their own executions', async () => {
    const started = await start({
      keys: [
        {
          name: 'ci',
          hash: hashKey(ci),
          boundaries: ['guest', 'process'],
          ratePerMinute: 3,
          policy: { programs: ['/bin/echo'] },
        },
        { name: 'ops', hash: hashKey(ops) },
      ],
    });
    const asCi = { authorization: `Bearer ${ci}` };
    const asOps = { authorization: `Bearer ${ops}` };
    expect((await started.json('/execute-tool', { packageName: 'a', name: 'b' }, asCi)).status).toBe(403);
    expect((await started.json('/metrics', undefined, asCi)).status).toBe(403);
    const mine = (await started.json('/run', { code: 'return 1' }, asCi)).body.executionId;
    const theirs = (await started.json('/run', { code: 'return 1' }, asOps)).body.executionId;
    await started.json('/run', { code: 'return 1' }, asCi);
    await started.json('/run', { code: 'return 1' }, asCi);
    const fourth = await started.json('/run', { code: 'return 1' }, asCi);
    expect(fourth.status).toBe(429);
    expect(fourth.body.error.code).toBe('RATE_LIMITED');
    const listed = (await started.json('/executions', undefined, asCi)).body.executions;
    expect(listed).toHaveLength(3);
    expect(listed.every(({ by }: { by: { key: string } }) => by.key === 'ci')).toBe(true);
    expect((await started.json(`/executions/${mine}`, undefined, asCi)).status).toBe(200);
    expect((await started.json(`/executions/${theirs}`, undefined, asCi)).status).toBe(404);
    expect((await started.json('/executions', undefined, asOps)).body.executions).toHaveLength(4);
  });

  it('limit how much runs at once', async () => {
    const started = await start({ keys: [{ name: 'one', hash: hashKey(ci), concurrency: 1 }] });
    const headers = { authorization: `Bearer ${ci}` };
    const begun = new Promise<void>((resolve) => {
      const stop = started.server.trail.onEvent(({ type }) => {
        if (type !== 'created') return;
        stop();
        resolve();
      });
    });
    const first = started.json('/run', { code: 'await new Promise((r) => setTimeout(r, 500)); return 1' }, headers);
    await begun;
    expect((await started.json('/run', { code: 'return 1' }, headers)).status).toBe(429);
    expect((await first).body.ok).toBe(true);
  });

  it('limit how much runs at once also when the bodies come together', async () => {
    const started = await start({ keys: [{ name: 'one', hash: hashKey(ci), concurrency: 1 }] });
    const body = JSON.stringify({ code: 'await new Promise((r) => setTimeout(r, 300)); return 1' });
    const withheld = Array.from({ length: 4 }, () => {
      const request = httpRequest(`${started.url}/run`, {
        method: 'POST',
        agent: false,
        headers: {
          authorization: `Bearer ${ci}`,
          'content-type': 'application/json',
          'content-length': body.length,
          expect: '100-continue',
        },
      });
      const admitted = new Promise((resolve) => request.once('continue', resolve));
      const status = new Promise((resolve, reject) => {
        request.once('error', reject);
        request.once('response', (response) => resolve(response.resume().statusCode));
      });
      request.flushHeaders();
      return { request, admitted, status };
    });
    await Promise.all(withheld.map(({ admitted }) => admitted));
    for (const { request } of withheld) request.end(body);
    const statuses = await Promise.all(withheld.map(({ status }) => status));
    expect(statuses.sort()).toEqual([200, 429, 429, 429]);
  });

  it('are replaced without dropping a connection of those that stay', async () => {
    const old = { name: 'old', hash: hashKey(ci) };
    const { server, url, json } = await start({ keys: [old] });
    const socket = await opened(url, '/guest', { authorization: `Bearer ${ci}` });
    server.reload({
      keys: [
        { name: 'new', hash: hashKey(ops) },
        { ...old, concurrency: 1 },
      ],
    });
    expect((await json('/executions', undefined, { authorization: `Bearer ${ops}` })).status).toBe(200);
    const done = until(socket, ({ type }) => type === 'done');
    socket.send(JSON.stringify({ type: 'execute', id: '1', code: 'return 1', options: {}, providers: [] }));
    expect((await done).at(-1)).toMatchObject({ type: 'done', ok: true });
  });

  it('lose their connections and what runs for them when they are withdrawn', async () => {
    const { server, url, json } = await start({
      keys: [{ name: 'old', hash: hashKey(ci) }],
      wasmDir: C_MODULES,
      isolation: 'process',
    });
    const headers = { authorization: `Bearer ${ci}` };
    const sockets = await Promise.all(['/exec', '/guest', '/wasm/guest'].map((path) => opened(url, path, headers)));
    const [exec] = sockets;
    const endless = { processId: '1', argv: ['/bin/sleep', '600'], cwd: 'file:///', env: {}, tty: false };
    const call = (id: number, method: string, params: object) => exec!.send(JSON.stringify({ id, method, params }));
    const begun = until(exec!, ({ id }) => id === 2);
    call(1, 'initialize', { clientName: 'test', resumeSessionId: null });
    exec!.send(JSON.stringify({ method: 'initialized' }));
    call(2, 'process/start', endless);
    expect((await begun).at(-1)).toHaveProperty('result');
    const events = await fetch(`${url}/events`, { headers });
    const run = json(
      '/run',
      { code: 'await new Promise((r) => setTimeout(r, 60_000))', timeoutMs: 60_000 },
      headers,
    ).catch((error: Error) => error);
    await expect.poll(() => [...server.trail.running].length).toBe(3);
    const closed = sockets.map(
      (socket) => new Promise((resolve) => socket.once('close', (_code, why) => resolve(`${why}`))),
    );
    server.reload({ keys: [{ name: 'new', hash: hashKey(ops) }] });
    expect(await Promise.all(closed)).toEqual(Array(3).fill('the API key was withdrawn'));
    await expect(events.text()).rejects.toThrow();
    expect(await run).toBeInstanceOf(Error);
    await server.trail.idle();
    expect(server.trail.page({}, 10).executions.map(({ status }) => status)).toEqual(Array(3).fill('cancelled'));
    expect(await connect(url, '/exec', headers)).toBe(401);
  });

  it('lose what they were given for a boundary that is taken from them, and nothing else', async () => {
    const old = { name: 'old', hash: hashKey(ci) };
    const { server, url } = await start({ keys: [old] });
    const headers = { authorization: `Bearer ${ci}` };
    const [exec, guest] = [await opened(url, '/exec', headers), await opened(url, '/guest', headers)];
    const closed = new Promise((resolve) => exec.once('close', (_code, why) => resolve(String(why))));
    server.reload({ keys: [{ ...old, boundaries: ['guest'] }] });
    expect(await closed).toContain('not for the boundary process');
    expect(guest.readyState).toBe(guest.OPEN);
  });

  it('are asked for on connections that were open before there were any', async () => {
    const { server, url } = await start();
    const socket = await opened(url, '/exec');
    const closed = new Promise((resolve) => socket.once('close', (_code, why) => resolve(String(why))));
    server.reload({ keys: [{ name: 'new', hash: hashKey(ops) }] });
    expect(await closed).toBe('an API key is needed by now');
  });
});

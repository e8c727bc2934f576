import { describe, expect, it, onTestFinished } from 'vitest';
import { here } from '../sandbox/container/rooms.js';
import { TestRegistry } from '../tool/registry.js';
import { hashKey, scratch, start } from './start.js';

const ADD = `export const add = {
  description: 'adds',
  inputSchema: { type: 'object' },
  execute: async ({ a, b }) => ({ sum: a + b }),
};
export const pause = { description: 'takes a while', inputSchema: { type: 'object' }, execute: () => new Promise((r) => setTimeout(r, 3_000)) };
export const slow = { description: 'never ends', inputSchema: { type: 'object' }, execute: () => new Promise(() => {}) };`;

async function withRegistry(): Promise<TestRegistry> {
  const registry = await TestRegistry.start();
  onTestFinished(() => registry.close());
  registry.tool('adder', ADD);
  registry.tool('other', ADD);
  return registry;
}

describe('tools on the server', () => {
  it('are in the audit trail with who asked, also when they run after the request', async () => {
    const registry = await withRegistry();
    const key = 'the-key-of-the-build-server';
    const { json } = await start({ registry: registry.url, keys: [{ name: 'ci', hash: hashKey(key) }] });
    const headers = { authorization: `Bearer ${key}` };
    const call = { packageName: 'adder', name: 'add', params: { a: 1, b: 2 } };
    const answered = await json('/execute-tool', call, headers);
    expect(answered.body).toMatchObject({ success: true, output: { sum: 3 } });
    const accepted = await json('/api/execute-async', call, headers);
    expect(accepted.status).toBe(202);
    const { executionId } = accepted.body;
    await expect
      .poll(async () => (await json(`/executions/${executionId}`, undefined, headers)).body.status)
      .toBe('succeeded');
    const { body } = await json(`/executions/${executionId}`, undefined, headers);
    expect(body).toMatchObject({
      kind: 'tool',
      by: { key: 'ci', address: '127.0.0.1' },
      result: { output: { sum: 3 } },
    });
    const described = await json('/load-and-describe', { packageName: 'adder', name: 'add' }, headers);
    expect(described.status).toBe(200);
    const { executions } = (await json('/executions?kind=tool', undefined, headers)).body;
    expect(executions).toMatchObject([
      { via: 'POST /load-and-describe', label: 'adder', status: 'succeeded' },
      { label: 'adder@latest add', status: 'succeeded', by: { key: 'ci' } },
      { executionId: answered.body.executionId, label: 'adder@latest add', status: 'succeeded' },
    ]);
  });

  it('belong to the key that asked, also when nothing but the answer is left of them', async () => {
    const registry = await withRegistry();
    const [a, b] = ['the-key-of-the-first-tenant', 'the-key-of-the-second-tenant'];
    const boundaries = ['tool'] as const;
    const cacheDir = scratch();
    const options = {
      registry: registry.url,
      cacheDir,
      limits: { auditRecords: 1 },
      keys: [
        { name: 'a', hash: hashKey(a), boundaries },
        { name: 'b', hash: hashKey(b), boundaries },
      ],
    };
    const { json, server } = await start(options);
    const of = (key: string) => ({ authorization: `Bearer ${key}`, 'idempotency-key': 'same' });
    const call = { packageName: 'adder', name: 'add', params: { a: 1, b: 2 } };
    const { executionId: sync } = (await json('/execute-tool', call, of(a))).body;
    expect((await json('/execute-tool', call, of(a))).body.executionId).toBe(sync);
    expect((await json('/execute-tool', call, of(b))).body.executionId).not.toBe(sync);
    const { executionId: kept } = (await json('/execute-async', call, of(a))).body;
    expect((await json('/execute-async', call, of(b))).body.executionId).not.toBe(kept);
    await expect.poll(async () => (await json(`/executions/${kept}`, undefined, of(a))).body.status).toBe('succeeded');
    // Enough to push the others out of the trail.
    for (let index = 0; index < 3; index += 1) await json('/execute-tool', call, { authorization: `Bearer ${b}` });
    for (const id of [sync, kept]) {
      expect((await json(`/executions/${id}`, undefined, of(a))).status).toBe(200);
      expect((await json(`/executions/${id}`, undefined, of(b))).status).toBe(404);
    }
    await server.dispose();
    const next = await start(options);
    expect((await next.json(`/executions/${kept}`, undefined, of(a))).body).toMatchObject({ status: 'succeeded' });
    expect((await next.json(`/executions/${kept}`, undefined, of(b))).status).toBe(404);
  });

  it('that wait when the server drains are run by the next one, and hold up no end', async () => {
    const registry = await withRegistry();
    const options = { registry: registry.url, cacheDir: scratch(), toolLimits: { maxExecutions: 1 } };
    const { json, server, url } = await start(options);
    const slow = (await json('/execute-async', { packageName: 'adder', name: 'pause' })).body.executionId;
    await expect.poll(async () => (await json(`/executions/${slow}`)).body.status).toBe('running');
    const call = { packageName: 'adder', name: 'add', params: { a: 1, b: 2 } };
    const waiting = (await json('/execute-async', call)).body.executionId;
    const unwanted = (await json('/execute-async', call)).body.executionId;
    const cancelled = await fetch(`${url}/executions/${unwanted}`, { method: 'DELETE' });
    expect(await cancelled.json()).toMatchObject({ status: 'cancelled' });
    const started = performance.now();
    await server.drain(60_000);
    expect(performance.now() - started).toBeLessThan(30_000);
    const next = await start(options);
    expect((await next.json(`/executions/${slow}`)).body).toMatchObject({ status: 'succeeded' });
    expect((await next.json(`/executions/${unwanted}`)).body).toMatchObject({ status: 'cancelled' });
    await expect.poll(async () => (await next.json(`/executions/${waiting}`)).body.status).toBe('succeeded');
  });

  it('that the next server takes over are still those of their key, and end with it', async () => {
    const registry = await withRegistry();
    const secrets = {
      ci: 'the-key-of-the-build-server',
      gone: 'the-key-of-one-who-left',
      boss: 'the-key-of-the-operator',
    };
    const [ci, gone, boss] = Object.entries(secrets).map(([name, secret]) => ({ name, hash: hashKey(secret) }));
    const all = [ci, gone, boss].flatMap((key) => key ?? []);
    const of = (name: keyof typeof secrets) => ({ authorization: `Bearer ${secrets[name]}` });
    const options = { registry: registry.url, cacheDir: scratch(), toolLimits: { maxExecutions: 1 } };
    const first = await start({ ...options, keys: all });
    const submit = async (name: keyof typeof secrets, tool: string): Promise<string> =>
      (await first.json('/execute-async', { packageName: 'adder', name: tool }, of(name))).body.executionId;
    await submit('boss', 'pause');
    const left = await submit('gone', 'slow');
    const withdrawn = await submit('ci', 'slow');
    const waiting = await submit('boss', 'slow');
    await first.server.drain(60_000);

    const next = await start({ ...options, keys: all.filter(({ name }) => name !== 'gone') });
    const look = async (id: string) => (await next.json(`/executions/${id}`, undefined, of('boss'))).body;
    expect(await look(left)).toMatchObject({
      status: 'cancelled',
      by: { key: 'gone', address: null },
      result: { error: { message: 'the API key was withdrawn' } },
    });
    await expect.poll(async () => (await look(withdrawn)).status).toBe('running');
    expect(await look(withdrawn)).toMatchObject({ by: { key: 'ci', address: null } });
    next.server.reload({ keys: all.filter(({ name }) => name === 'boss') });
    await expect.poll(async () => (await look(withdrawn)).status).toBe('cancelled');
    await expect.poll(async () => (await look(waiting)).status).toBe('running');
  });

  it('are looked at no longer than somebody waits for it, and the audit trail says so', async () => {
    const registry = await withRegistry();
    registry.tool('endless', 'await new Promise(() => setInterval(() => {}, 1_000)); export const x = 1;');
    const { url, json } = await start({ registry: registry.url });
    const running = async () => (await json('/executions?status=running')).body.executions.length;
    const leaving = new AbortController();
    const asked = fetch(`${url}/load-and-describe`, {
      method: 'POST',
      body: JSON.stringify({ packageName: 'endless', name: 'x' }),
      headers: { 'content-type': 'application/json' },
      signal: leaving.signal,
    });
    await expect.poll(running).toBe(1);
    leaving.abort();
    await expect(asked).rejects.toThrow();
    await expect.poll(running).toBe(0);
    const { executions } = (await json('/executions?kind=tool')).body;
    expect(executions).toMatchObject([{ label: 'endless', status: 'cancelled' }]);
  });

  it.runIf(here.available)('have their connections in the audit trail', async () => {
    const registry = await withRegistry();
    const { port } = new URL(registry.url);
    registry.tool(
      'caller',
      `export const get = {
  description: 'gets',
  inputSchema: { type: 'object' },
  execute: async ({ url }) => (await fetch(url).then((r) => r.status, (error) => String(error.cause ?? error))),
};`,
    );
    const { json } = await start({
      registry: registry.url,
      isolation: 'container',
      policies: { tool: { network: { kind: 'allow', hosts: [`127.0.0.1:${port}`] } } },
    });
    const get = async (url: string) =>
      (await json('/execute-tool', { packageName: 'caller', name: 'get', params: { url } })).body.output;
    expect(await get(`${registry.url}adder`)).toBe(200);
    expect(await get('http://169.254.169.254/latest/')).toContain('not allowed by the network policy');
    const { executions } = (await json('/executions?kind=tool')).body;
    const uses = executions.flatMap(({ capabilities }: { capabilities: { type: string; outcome: string }[] }) =>
      capabilities.filter(({ type }) => type === 'network').map(({ outcome }) => outcome),
    );
    expect(uses).toEqual(['denied', 'allowed']);
  });

  it('are limited to the packages that a key names, alone or in a batch', async () => {
    const registry = await withRegistry();
    const key = 'the-key-of-the-build-server';
    const { json } = await start({
      registry: registry.url,
      keys: [{ name: 'ci', hash: hashKey(key), policy: { packages: ['adder'] } }],
    });
    const headers = { authorization: `Bearer ${key}` };
    const good = { packageName: 'adder', name: 'add', params: { a: 1, b: 2 } };
    const bad = { ...good, packageName: 'other' };
    expect((await json('/execute-tool', bad, headers)).status).toBe(403);
    expect((await json('/execute-batch', { items: [good, bad] }, headers)).status).toBe(403);
    expect((await json('/execute-async', bad, headers)).status).toBe(403);
    expect((await json('/execute-tool', good, headers)).body.success).toBe(true);
    expect(registry.count('other')).toBe(0);
  });

  it('count one by one in a batch, and run no more of them at once than their key may', async () => {
    const registry = await withRegistry();
    const token = 'the-key-of-the-build-server';
    const key = { name: 'ci', hash: hashKey(token), concurrency: 2, ratePerMinute: 6 };
    const { json, server } = await start({ registry: registry.url, keys: [key] });
    const headers = { authorization: `Bearer ${token}` };
    const item = { packageName: 'adder', name: 'add', params: { a: 1, b: 2 } };
    let most = 0;
    server.trail.onEvent(() => {
      most = Math.max(most, server.trail.active);
    });
    const batch = json('/execute-batch', { items: Array(5).fill(item) }, headers);
    await expect.poll(() => server.trail.active).toBe(2);
    expect((await json('/run', { code: 'return 1' }, headers)).status).toBe(429);
    expect((await batch).body).toMatchObject({ success: true });
    expect(most).toBe(2);
    const second = await json('/api/execute-batch', { items: [item, item] }, headers);
    expect(second.status).toBe(429);
    expect(second.body.error.message).toContain('this needs 2 of them at once');
    expect((await json('/run', { code: 'return 1' }, headers)).status).toBe(200);
  });

  it('are cancelled when a stream loses its last reader', async () => {
    const registry = await withRegistry();
    const { url, server } = await start({ registry: registry.url, toolLimits: { streamGraceMs: 100 } });
    const controller = new AbortController();
    const response = await fetch(`${url}/execute-tool`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
      body: JSON.stringify({ packageName: 'adder', name: 'slow', params: {} }),
      signal: controller.signal,
    });
    for await (const chunk of response.body!) if (Buffer.from(chunk).includes('event: start')) break;
    controller.abort();
    await expect.poll(() => server.trail.page({ status: 'cancelled' }, 1).executions.length).toBe(1);
  });

  it('only fail themselves when the registry hangs', async () => {
    const registry = await withRegistry();
    registry.tool('hangs', ADD, { delay: 'never' });
    const { json } = await start({ registry: registry.url, toolLimits: { installTimeoutMs: 500 } });
    const hanging = json('/execute-tool', { packageName: 'hangs', name: 'add', params: {} });
    expect((await json('/run', { code: 'return 1' })).body.ok).toBe(true);
    expect((await hanging).body).toMatchObject({ success: false, error: { code: expect.any(String) } });
  });
});

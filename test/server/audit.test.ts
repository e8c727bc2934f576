import { describe, expect, it } from 'vitest';
import { defineTools } from '../../src/capabilities/index.js';
import { AuditTrail } from '../../src/server/audit/trail.js';
import { C_MODULES, eventsOf, start } from './start.js';

const asked = { kind: 'guest', via: 'test', label: 'x', isolation: 'process', limits: {} } as const;

describe('the trail', () => {
  it('keeps what runs and the latest that ran, pages it and filters it', () => {
    const trail = new AuditTrail({ limits: { auditRecords: 3, auditCapabilities: 2 } });
    const running = trail.open(asked, undefined);
    for (let count = 0; count < 5; count += 1)
      trail.open({ ...asked, kind: 'tool' }, undefined).ended({ status: 'failed', code: 'x' });
    const all = trail.page({}, 10).executions;
    expect(all.at(-1)?.executionId).toBe(running.id);
    const first = trail.page({ kind: 'tool' }, 2);
    expect(first.executions).toHaveLength(2);
    const second = trail.page({ kind: 'tool', before: first.next }, 2);
    expect(second.executions.map(({ executionId }) => executionId)).not.toContain(first.executions[0]?.executionId);
    expect(trail.page({ status: 'running' }, 10).executions).toHaveLength(0);
    expect(trail.page({ status: 'queued' }, 10).executions).toHaveLength(1);
  });

  it('keeps a few capabilities and counts all, without secrets or control characters', () => {
    const scrub = (text: string): string => text.replaceAll('hunter2', '[redacted]');
    const trail = new AuditTrail({ limits: { auditRecords: 3, auditCapabilities: 2 }, scrub });
    const told: string[] = [];
    trail.onEvent((event) => told.push(event.type));
    const execution = trail.open(asked, undefined);
    execution.started();
    for (let count = 0; count < 5; count += 1)
      execution.used({ type: 'tool', name: 'a\u001b[31mhunter2', outcome: 'ok' });
    execution.ended({ status: 'failed', code: 'x', message: 'hunter2' });
    execution.ended({ status: 'succeeded', code: 'ok' });
    const record = execution.record();
    expect(record.capabilities).toHaveLength(2);
    expect(record.capabilityCounts).toEqual({ tool: 5 });
    expect(record.capabilities[0]?.name).toBe('a\\u001b[31m[redacted]');
    expect(record).toMatchObject({ status: 'failed', outcome: { code: 'x', message: '[redacted]' } });
    expect(told).toEqual(['created', 'started', ...Array(5).fill('capability'), 'ended']);
  });
});

describe('GET /executions and GET /events', () => {
  it('tell of every boundary, live and afterwards', async () => {
    const host = defineTools('host', { double: (value: unknown) => Number(value) * 2 });
    const { url, json } = await start({ wasmDir: C_MODULES, providers: [host] });
    const controller = new AbortController();
    const live = await fetch(`${url}/events`, { signal: controller.signal });
    await json('/run', { code: 'return await host.double(4)' });
    await json('/wasm/guest/callHost', { functionName: 'double', params: 4 });
    await json('/run', { code: 'while (true) {}', timeoutMs: 50 });
    const { executions } = (await json('/executions')).body;
    expect(executions).toMatchObject([
      { kind: 'guest', status: 'failed', outcome: { code: 'timeout' }, limits: { timeoutMs: 50 } },
      { kind: 'wasm', label: 'guest/callHost' },
      { kind: 'guest', status: 'succeeded', capabilities: [{ type: 'tool', name: 'host.double', outcome: 'ok' }] },
    ]);
    expect(executions[0]).toMatchObject({ by: { key: null, address: '127.0.0.1' }, isolation: 'process' });
    expect((await json('/executions?kind=wasm')).body.executions).toHaveLength(1);
    expect((await json('/executions?status=failed&kind=guest')).body.executions).toHaveLength(1);
    const page = (await json('/executions?limit=1')).body;
    expect((await json(`/executions?limit=1&cursor=${page.nextCursor}`)).body.executions[0].kind).toBe('wasm');
    for (const query of ['kind=x', 'limit=0', 'limit=9999', 'since=yesterday', 'other=1', 'kind=tool&kind=wasm']) {
      expect((await json(`/executions?${query}`)).status, query).toBe(400);
    }
    let text = '';
    for await (const chunk of live.body!) {
      text += Buffer.from(chunk).toString();
      if (text.match(/event: ended/g)?.length === 3) break;
    }
    controller.abort();
    const names = eventsOf(text).map(({ event }) => event);
    expect(names.filter((name) => name === 'created')).toHaveLength(3);
    expect(names).toContain('capability');
  });

  it('cancel what runs, whatever it is', async () => {
    const { json, url, server } = await start();
    const begun = new Promise<string>((resolve) => {
      server.trail.onEvent((event) => {
        if (event.type === 'started') resolve(event.execution.executionId);
      });
    });
    const running = json('/run', { code: 'await new Promise(() => {})', timeoutMs: 60_000 });
    const id = await begun;
    const cancelled = await fetch(`${url}/executions/${id}`, { method: 'DELETE' });
    expect(await cancelled.json()).toMatchObject({ executionId: id, status: 'cancelled' });
    expect((await running).body.ok).toBe(false);
  });
});

describe('GET /metrics', () => {
  it('counts by kind and outcome, with labels that no client can multiply', async () => {
    const { json } = await start();
    await json('/run', { code: 'return 1' });
    await json('/run', { code: 'while (true) {}', timeoutMs: 50 });
    for (let count = 0; count < 20; count += 1) await json(`/nothing-${count}`);
    const { body } = await json('/metrics');
    expect(body).toContain('sallyport_executions_total{kind="guest",outcome="succeeded"} 1');
    expect(body).toContain('sallyport_executions_total{kind="guest",outcome="failed"} 1');
    expect(body).toContain('sallyport_limits_hit_total{kind="guest",limit="time"} 1');
    expect(body).toContain('sallyport_http_responses_total{class="4xx"} 20');
    expect(body).toMatch(/sallyport_execution_seconds_count\{kind="guest"\} 2/);
    expect(body).toContain('process_resident_memory_bytes');
    expect(body).not.toContain('nothing-1');
  });
});

describe('draining', () => {
  it('lets what runs finish, takes on nothing new, and says so', async () => {
    const { json, server, url } = await start();
    const begun = new Promise<void>((resolve) => {
      server.trail.onEvent(({ type }) => type === 'started' && resolve());
    });
    const running = json('/run', { code: 'await new Promise((r) => setTimeout(r, 500)); return "done"' });
    await begun;
    const drained = server.drain(10_000);
    expect((await running).body).toMatchObject({ ok: true, result: 'done' });
    await drained;
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });

  it('ends what takes too long', async () => {
    const { json, server } = await start();
    const begun = new Promise<void>((resolve) => {
      server.trail.onEvent(({ type }) => type === 'started' && resolve());
    });
    const running = json('/run', { code: 'await new Promise(() => {})', timeoutMs: 60_000 });
    await begun;
    await server.drain(100);
    expect((await running).body).toMatchObject({ ok: false });
    expect(server.trail.active).toBe(0);
  });
});

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ToolClient } from '../../dist/tool/index.js';
import { TestRegistry } from '../tool/registry.js';
import { SALLYPORT } from './command.js';

// Servers are started and killed here; a busy machine takes its time.
vi.setConfig({ testTimeout: 90_000, hookTimeout: 60_000 });
const POLL = { timeout: 60_000, interval: 100 };

const folder = mkdtempSync(join(tmpdir(), 'sallyport-restart-'));
const running = new Set<ChildProcess>();
const temporary = join(folder, 'tmp');
let registry: TestRegistry;
let hook: Server;
const delivered: string[] = [];
let hookStatus = 500;

beforeAll(async () => {
  mkdirSync(temporary);
  registry = await TestRegistry.start();
  registry.tool(
    'patient',
    `
    export const echo = { execute: (params) => params };
    export const wait = { execute: () => new Promise((resolve) => setTimeout(resolve, 600000)) };
  `,
  );
  hook = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text;
    });
    request.on('end', () => {
      delivered.push(body);
      response.writeHead(hookStatus).end();
    });
  });
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  for (const server of running) server.kill('SIGKILL');
  hook.closeAllConnections();
  hook.close();
  await registry.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Started {
  readonly client: ToolClient;
  /** Kills it the hard way. */
  readonly kill: () => Promise<void>;
}

async function start(cache: string, more: readonly string[] = []): Promise<Started> {
  const args = ['serve-tools', '--port', '0', '--registry', registry.url, '--cache-dir', join(folder, cache)];
  const server = spawn(process.execPath, [SALLYPORT, ...args, '--webhook-allow', '127.0.0.1', ...more], {
    env: { PATH: process.env['PATH'], TMPDIR: temporary, LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  running.add(server);
  const url = await new Promise<string>((resolve, reject) => {
    server.stdout.setEncoding('utf8').once('data', resolve);
    server.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const kill = async (): Promise<void> => {
    server.kill('SIGKILL');
    await ended;
    running.delete(server);
  };
  return { client: new ToolClient(url.trim()), kill };
}

describe('a server that was killed', () => {
  it('has its async executions carried on by the next one, and forgets no webhook', async () => {
    const first = await start('cache');
    const callback = { url: `http://127.0.0.1:${(hook.address() as AddressInfo).port}/` };
    const submit = (name: string, more: object = {}) =>
      first.client.executeAsync({ packageName: 'patient', name, ...more });
    const finished = await submit('echo', { params: { a: 1 }, callback });
    await expect.poll(async () => (await first.client.status(finished.executionId)).callback?.attempts, POLL).toBe(1);
    const { capabilities } = await first.client.info();
    const limits: unknown = capabilities['limits'];
    const places = Number(Reflect.get(Object(limits), 'maxConcurrentExecutions'));
    const waiting = await Promise.all(Array.from({ length: places }, () => submit('wait')));
    const last = waiting.at(-1)?.executionId ?? '';
    await expect.poll(async () => (await first.client.status(last)).status, POLL).toBe('running');
    const queued = await submit('echo', { params: { a: 2 } });
    const withSecret = await submit('echo', { env: { TOKEN: 'very-secret-value' } });
    expect((await first.client.status(queued.executionId)).status).toBe('queued');
    await first.kill();
    for (const name of readdirSync(join(folder, 'cache')).filter((file) => file.startsWith('executions.db'))) {
      expect(readFileSync(join(folder, 'cache', name), 'latin1')).not.toContain('very-secret-value');
    }

    hookStatus = 204;
    const second = await start('cache');
    expect(await second.client.status(finished.executionId)).toMatchObject({
      status: 'succeeded',
      result: { success: true, output: { a: 1 } },
    });
    for (const { executionId } of waiting) {
      expect(await second.client.status(executionId)).toMatchObject({
        status: 'failed',
        result: { success: false, error: { message: expect.stringContaining('restarted') }, retryable: true },
      });
    }
    expect(await second.client.status(withSecret.executionId)).toMatchObject({
      status: 'failed',
      result: { error: { message: expect.stringContaining('never stored') } },
    });
    await expect.poll(async () => (await second.client.status(queued.executionId)).status, POLL).toBe('succeeded');
    await expect
      .poll(async () => (await second.client.status(finished.executionId)).callback?.status, POLL)
      .toBe('delivered');
    expect(delivered.length).toBeGreaterThanOrEqual(2);
    expect(new Set(delivered.map((body) => JSON.parse(body).data.executionId))).toEqual(
      new Set([finished.executionId]),
    );
    await second.kill();
  });

  it('leaves a folder that the next one removes, and that of a living one stays', async () => {
    const process = ['--isolation', 'process'];
    const own = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('sallyport-tools-'));
    // Those of the test above ran in rooms where there are any, or were swept by each other.
    const before = new Set(own());
    const first = await start('first', process);
    const call = first.client.execute({ packageName: 'patient', name: 'wait' }).catch(() => {});
    const [left = ''] = own().filter((name) => !before.has(name));
    await expect.poll(() => readdirSync(join(temporary, left, 'children')).length, POLL).toBeGreaterThan(0);
    await first.kill();
    await call;
    expect(own()).toContain(left);
    const second = await start('second', process);
    await expect.poll(own, POLL).not.toContain(left);
    const living = own();
    expect(living.length).toBe(1);
    const third = await start('third', process);
    await expect.poll(() => own().length, POLL).toBe(2);
    expect(own()).toEqual(expect.arrayContaining(living));
    expect(await second.client.execute({ packageName: 'patient', name: 'echo', params: { b: 1 } })).toMatchObject({
      success: true,
      output: { b: 1 },
    });
    await second.kill();
    await third.kill();
  });
});

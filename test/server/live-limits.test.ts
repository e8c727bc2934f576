import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { connect as dial, type Socket } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DEFAULT_SERVER_LIMITS } from '../../src/server/index.js';
import { LiveLimits } from '../../src/server/live-limits.js';
import { Turns } from '../../src/server/wasm/turns.js';
import { connect, hashKey, KEY, scratch, start } from './start.js';

/** A plain connection that asks for /health once it is open, and what came of it. */
async function ask(url: string): Promise<{ socket: Socket; answer: string }> {
  const { hostname, port } = new URL(url);
  const socket = dial(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  let answer = '';
  socket.on('error', () => {});
  socket.write('GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk) => {
      answer += chunk.toString();
      resolve();
    });
    socket.once('close', () => resolve());
  });
  return { socket, answer };
}

describe('limits of a running server', () => {
  it('keep what pools and parsers were made with, and say so', () => {
    const live = new LiveLimits({ connections: 10, guests: 3 });
    const { values } = live;
    expect(live.replace({ connections: 20, guests: 4, bodyBytes: 1 })).toEqual(['guests', 'bodyBytes']);
    expect(values).toEqual({ ...DEFAULT_SERVER_LIMITS, connections: 20, guests: 3 });
    expect(live.replace({ guests: 3 })).toEqual([]);
    expect(values.connections).toBe(DEFAULT_SERVER_LIMITS.connections);
  });

  it('bound the connections in all, and take a new one when an old one has gone', async () => {
    const { url } = await start({ limits: { connections: 2 } });
    const [first, second] = [await ask(url), await ask(url)];
    expect([first.answer, second.answer].every((answer) => answer.startsWith('HTTP/1.1 200'))).toBe(true);
    expect((await ask(url)).answer).toBe('');
    first.socket.destroy();
    await once(first.socket, 'close');
    await expect.poll(async () => (await ask(url)).answer).toMatch(/^HTTP\/1.1 200/);
  });

  it('bound the connections of one address with a clear answer', async () => {
    const { url } = await start({ limits: { connectionsPerAddress: 1 } });
    await ask(url);
    const { answer } = await ask(url);
    expect(answer).toMatch(/^HTTP\/1.1 503 /);
    expect(answer).toContain('has 1 connections open already');
  });

  it('can be raised while connections stay open', async () => {
    const { server, url } = await start({ limits: { connections: 1 }, keys: [{ name: 'one', hash: hashKey(KEY) }] });
    const socket = await connect(url, '/guest', { authorization: `Bearer ${KEY}` });
    if (typeof socket === 'number') throw new Error('refused');
    expect((await ask(url)).answer).toBe('');
    expect(server.reload({ keys: [{ name: 'one', hash: hashKey(KEY) }], limits: { connections: 5 } })).toEqual([]);
    expect((await ask(url)).answer).toMatch(/^HTTP\/1.1 200/);
    expect(socket.readyState).toBe(socket.OPEN);
  });
});

describe('turns', () => {
  const nobody = new AbortController().signal;

  it('are given in order, to no more than there are places', async () => {
    const turns = new Turns({ wasmGuests: 1, queuedWasmCalls: 1 });
    const first = await turns.take(nobody);
    const second = turns.take(nobody);
    expect(turns.full).toBe(true);
    expect(turns.tryTake()).toBeUndefined();
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    expect(turns.taken).toBe(1);
    (await second)[Symbol.dispose]();
    expect(turns).toMatchObject({ taken: 0, waiting: 0, full: false });
  });

  it('follow a limit that changes', async () => {
    const limits = { wasmGuests: 2, queuedWasmCalls: 5 };
    const turns = new Turns(limits);
    const places = [await turns.take(nobody), await turns.take(nobody)];
    const waiting = [turns.take(nobody), turns.take(nobody), turns.take(nobody)];
    limits.wasmGuests = 1;
    places[0]?.[Symbol.dispose]();
    expect(turns).toMatchObject({ taken: 1, waiting: 3 });
    limits.wasmGuests = 3;
    places[1]?.[Symbol.dispose]();
    expect(turns).toMatchObject({ taken: 3, waiting: 0 });
    for (const place of await Promise.all(waiting)) place[Symbol.dispose]();
    expect(turns.taken).toBe(0);
  });

  it('are not given to who went away', async () => {
    const turns = new Turns({ wasmGuests: 1, queuedWasmCalls: 1 });
    const first = await turns.take(nobody);
    const gone = new AbortController();
    const second = turns.take(gone.signal);
    gone.abort();
    await expect(second).rejects.toThrow('went away');
    first[Symbol.dispose]();
    expect(turns).toMatchObject({ taken: 0, waiting: 0 });
  });
});

describe('GET /readyz', () => {
  it('says why no work should be sent', async () => {
    const cacheDir = scratch();
    const { json } = await start({ cacheDir });
    expect(await json('/readyz')).toEqual({ status: 200, body: { ready: true, reasons: [] } });
    rmSync(cacheDir, { recursive: true });
    expect(await json('/readyz')).toEqual({
      status: 503,
      body: { ready: false, reasons: ['the cache folder cannot be written to'] },
    });
  });

  it('says that the server is shutting down as long as something runs, and new work is refused', async () => {
    const { server, url, json } = await start();
    const begun = new Promise<void>((resolve) => {
      const stop = server.trail.onEvent(({ type }) => {
        if (type !== 'started') return;
        stop();
        resolve();
      });
    });
    const running = json('/run', { code: 'await new Promise((r) => setTimeout(r, 1_500)); return 1' });
    await begun;
    const draining = server.drain(10_000);
    expect(await json('/readyz')).toEqual({
      status: 503,
      body: { ready: false, reasons: ['the server is shutting down'] },
    });
    expect((await json('/health')).status).toBe(200);
    expect(await json('/run', { code: '1' })).toMatchObject({ status: 503, body: { error: { code: 'DRAINING' } } });
    expect(await connect(url, '/exec')).toBe(503);
    expect((await running).body).toMatchObject({ ok: true });
    await draining;
    await expect(json('/health')).rejects.toThrow();
  });
});

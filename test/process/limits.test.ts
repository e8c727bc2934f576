import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { DEFAULT_PROCESS_LIMITS } from '../../src/process/index.js';
import { sallyport } from '../e2e/command.js';
import { ownServer, rawPair } from './helpers.js';
import { builtServer, connect, KINDS, type Kind, laterStart, type Message, type RawClient, uri } from './raw-client.js';

/** A client of the built program with some limits. */
async function limited(kind: Kind, limits: Record<string, number>): Promise<RawClient> {
  const client = await connect(
    kind,
    Object.entries(limits).flatMap(([name, value]) => ['--limit', `${name}=${value}`]),
  );
  await client.later();
  return client;
}

function folderOf(files: number): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-limits-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (let index = 0; index < files; index += 1) writeFileSync(join(folder, `f${index}`), 'x'.repeat(100));
  return folder;
}

const refusal = (message: RegExp, code = -32600) => ({ code, message: expect.stringMatching(message) });

describe.each(KINDS)('limits of the built program over %s', (kind) => {
  it('has one for processes, handles, ids, files, folders and walks', async () => {
    const folder = folderOf(4);
    const client = await limited(kind, {
      processes: 1,
      fileHandles: 1,
      idLength: 8,
      readFileBytes: 99,
      readBlockBytes: 10,
      directoryEntries: 3,
      walkEntries: 3,
      treeDepth: 1,
    });
    const fs = (method: string, params: unknown): Promise<Message> => client.call(`fs/${method}`, params);
    const file = uri(join(folder, 'f0'));
    await client.call('process/start', laterStart('a', 'sleep 60'));
    expect((await client.call('process/start', laterStart('b', 'true'))).error).toEqual(refusal(/limit is 1/));
    expect((await client.call('process/start', laterStart('too-long-an-id', 'true'))).error).toEqual(
      refusal(/processId.*8/, -32602),
    );
    await fs('open', { handleId: 'h', path: file });
    expect((await fs('open', { handleId: 'i', path: file })).error).toEqual(refusal(/limit is 1/));
    expect((await fs('readBlock', { handleId: 'h', offset: 0, len: 11 })).error).toEqual(refusal(/10/));
    expect((await fs('readFile', { path: file })).error).toEqual(refusal(/larger than 99/));
    expect((await fs('readDirectory', { path: uri(folder) })).error).toEqual(refusal(/more than 3 entries/));
    rmSync(join(folder, 'f3'));
    expect((await fs('readDirectory', { path: uri(folder) })).result.entries).toHaveLength(3);
    const options = { maxDepth: 1, maxDirectories: 1, maxEntries: 4, followDirectorySymlinks: false };
    expect((await fs('walk', { path: uri(folder), options })).error).toEqual(refusal(/entries=3/));
    await fs('createDirectory', { path: uri(join(folder, 'a/b')) });
    expect((await fs('remove', { path: uri(folder) })).error).toEqual(refusal(/too deep/));
  });

  it('cuts waits short', async () => {
    const client = await limited(kind, { waitMs: 100 });
    await client.call('process/start', laterStart('a', 'exec sleep 60'));
    const asked = performance.now();
    const read = await client.call('process/read', { processId: 'a', afterSeq: 0, waitMs: 1e9 });
    expect(read.result).toMatchObject({ chunks: [], exited: false });
    for (const waitMs of [1e9, undefined]) {
      const waited = await client.call('process/wait', { processId: 'a', waitMs });
      expect(waited.result).toMatchObject({ exited: false });
    }
    const took = performance.now() - asked;
    expect(took).toBeGreaterThan(250);
    expect(took).toBeLessThan(15_000);
    // A polite end gives up its politeness as soon.
    await client.call('process/start', laterStart('b', 'trap "" TERM; echo up; while :; do sleep 0.05; done'));
    await client.shows('b', 'up');
    await client.call('process/terminate', { processId: 'b', graceMs: 1e9 });
    expect((await client.notification('process/exited', 'b')).params.exitCode).toBe(137);
  });

  it('has one for what is kept, and says what is gone', async () => {
    const client = await limited(kind, { retainedBytes: 10, retainedChunks: 2, retentionMs: 300 });
    await client.call('process/start', laterStart('a', 'for i in 1 2 3 4; do printf $i; sleep 0.1; done'));
    await client.notification('process/closed', 'a');
    const { result } = await client.call('process/read', { processId: 'a', afterSeq: 0 });
    expect(result).toMatchObject({ truncated: true, firstSeq: 3 });
    expect(result.chunks.map(({ seq }: { seq: number }) => seq)).toEqual([3, 4]);
    await expect.poll(async () => (await client.call('process/read', { processId: 'a' })).error?.code).toBe(-32600);
  });

  it('has one for pending requests and for http, and ending a process always works', async () => {
    const web = createServer((_request, response) => response.writeHead(200).flushHeaders());
    onTestFinished(() => {
      web.closeAllConnections();
      web.close();
    });
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
    const client = await limited(kind, { pendingRequests: 2, httpRequests: 1, httpTimeoutMs: 500 });
    await client.call('process/start', laterStart('a', 'exec sleep 60'));
    const request = (requestId: string) => ({ method: 'GET', url, headers: [], requestId });
    const first = client.call('http/request', request('1'));
    expect((await client.call('http/request', request('2'))).error).toEqual(refusal(/limit is 1/));
    const poll = client.call('process/wait', { processId: 'a' });
    expect((await client.call('process/list')).error).toEqual(refusal(/pending requests: the limit is 2/));
    expect((await client.call('process/terminate', { processId: 'a' })).result).toEqual({ running: true });
    expect((await poll).result).toMatchObject({ exited: true });
    expect((await first).error).toEqual(refusal(/time is up/, -32603));
  });

  it('answers a client that reads while answers of more than it leave', async () => {
    const listen = kind === 'websocket' ? ['--listen', 'ws://127.0.0.1:0'] : [];
    const server = await builtServer([...listen, '--limit', 'backlogBytes=1000000', '--limit', 'fileBytes=500000']);
    const body = Buffer.alloc(15 * 2 ** 20);
    const web = createServer((_request, response) => response.end(body));
    onTestFinished(() => {
      web.closeAllConnections();
      web.close();
    });
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
    const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/`;
    const file = join(folderOf(0), 'large');
    writeFileSync(file, body);
    let send = (text: string): void => void server.child.stdin?.write(`${text}\n`);
    let source: Readable | null = server.child.stdout;
    const answered = new Map<number, number>();
    const heard = (text: string): void => {
      const { id, result } = JSON.parse(text);
      answered.set(id, (result?.dataBase64 ?? result?.bodyBase64 ?? '').length);
    };
    if (kind === 'websocket') {
      const socket = new WebSocket(server.url);
      await new Promise((resolve) => socket.once('open', resolve));
      socket.on('error', () => {});
      socket.on('message', (data) => heard(String(data)));
      send = (text) => socket.send(text);
      source = Reflect.get(socket, '_socket') as Socket;
      onTestFinished(() => socket.terminate());
    } else if (source !== null) createInterface({ input: source }).on('line', heard);
    send('{"id":0,"method":"initialize","params":{"clientName":"x","resumeSessionId":null}}');
    send('{"method":"initialized"}');
    await expect.poll(() => answered.size).toBe(1);
    const begun = new Promise((resolve) => source?.once('data', resolve));
    for (const id of [1, 2]) send(JSON.stringify({ id, method: 'fs/readFile', params: { path: uri(file) } }));
    for (const id of [3, 4]) {
      const params = { method: 'GET', url, headers: [], requestId: String(id) };
      send(JSON.stringify({ id, method: 'http/request', params }));
    }
    await begun;
    // Too slow for what is small to overtake anything.
    source?.pause();
    for (let id = 5; id < 105; id += 1) send(JSON.stringify({ id, method: 'process/list' }));
    await pause(500);
    source?.resume();
    await expect.poll(() => answered.size, { timeout: 30_000 }).toBe(105);
    expect([1, 2, 3, 4].map((id) => answered.get(id))).toEqual(Array(4).fill((body.length / 3) * 4));
    expect(server.stderr()).not.toMatch(/wait to be sent/);
  }, 60_000);

  it('ends the connection of a client that asks and never reads', async () => {
    const listen = kind === 'websocket' ? ['--listen', 'ws://127.0.0.1:0'] : [];
    const server = await builtServer([...listen, '--limit', 'backlogBytes=1000000']);
    const file = join(folderOf(0), 'big');
    writeFileSync(file, 'x'.repeat(300_000));
    let send = (text: string): void => void server.child.stdin?.write(`${text}\n`);
    if (kind === 'websocket') {
      const socket = new WebSocket(server.url);
      await new Promise((resolve) => socket.once('open', resolve));
      socket.on('error', () => {});
      socket.pause();
      send = (text) => socket.send(text);
      onTestFinished(() => socket.terminate());
    }
    send('{"id":0,"method":"initialize","params":{"clientName":"x","resumeSessionId":null}}');
    send('{"method":"initialized"}');
    // The kernel holds some megabytes of answers by itself.
    for (let id = 1; id <= 100; id += 1) {
      send(JSON.stringify({ id, method: 'fs/readFile', params: { path: uri(file) } }));
    }
    await expect.poll(() => server.stderr()).toMatch(/1000000|backlog|wait to be sent/i);
    if (kind === 'stdio') expect(await server.exited).toBe(0);
  });
});

describe('--limit', () => {
  it('takes every limit there is by name, and nothing else', async () => {
    const all = Object.entries(DEFAULT_PROCESS_LIMITS).flatMap(([name, value]) => ['--limit', `${name}=${value}`]);
    expect(await sallyport(['exec-server', ...all])).toMatchObject({ code: 0, stderr: '' });
    for (const limit of ['nope=1', 'processes', 'processes=', 'processes=0', 'processes=1.5', '=1', '__proto__=1']) {
      const result = await sallyport(['exec-server', '--limit', limit]);
      expect(result, limit).toMatchObject({ code: 2, stdout: '' });
    }
  });
});

describe('the list of processes', () => {
  it('shows the beginning of arguments, however many and long they are', async () => {
    const client = rawPair(ownServer({ limits: { listedArgvBytes: 1_000 } }));
    await client.later();
    const script = `exit # ${'x'.repeat(100_000)}`;
    await client.call('process/start', laterStart('long', script));
    await client.call('process/start', laterStart('many', '', { argv: ['true', ...Array(10_000).fill('')] }));
    await client.call('process/start', laterStart('few', 'true'));
    const { processes } = (await client.call('process/list', {})).result;
    const [long, many, few] = processes.map((each: Message) => each.argv);
    expect(long[2]).toMatch(/^exit # x+…$/);
    expect(JSON.stringify(long).length).toBeLessThan(1_200);
    expect(many.length).toBeLessThan(100);
    expect(many.at(-1)).toBe('…');
    expect(few).toEqual(['sh', '-c', 'true']);
  });
});

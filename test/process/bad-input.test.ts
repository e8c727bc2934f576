import { once } from 'node:events';
import { describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { ownServer, rawPair } from './helpers.js';
import {
  base64,
  builtServer,
  connect,
  connectWebSocket,
  KINDS,
  laterStart,
  sharedServer,
  start,
} from './raw-client.js';

const shared = sharedServer();

describe.each(KINDS)('hostile frames over %s', (kind) => {
  it('survives lines of every shape: CRLF, blank, NUL, split UTF-8, too many values, too deep', async () => {
    const client = await connect(kind);
    await client.later();
    const bad = async (text: string) => {
      const before = client.received.length;
      client.sendText(text);
      return client.until((message) => client.received.indexOf(message) >= before);
    };
    expect(await bad(`[${'0,'.repeat(2_100_000)}0]`)).toMatchObject({
      id: -1,
      error: { message: expect.stringMatching(/values/) },
    });
    expect(await bad(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)).toMatchObject({ id: -1 });
    expect(await bad('{"id":1,"method":"\u0000"')).toMatchObject({ id: -1 });
    expect(await bad('\u0000')).toMatchObject({ id: -1 });
    expect(await bad('{"__proto__":{"method":"x"},"id":1}')).toMatchObject({ id: -1 });
    const status = '{"id":"ü€😀","method":"environment/status","params":null}';
    client.sendText(kind === 'stdio' ? `\r\n\n  \n${status}\r` : status);
    expect(await client.until((message) => message.id === 'ü€😀')).toHaveProperty('result.status', 'ready');
    expect((await client.call('environment/status', { unknown: 'fields', are: ['ignored'] })).result).toBeDefined();
    expect(await bad(JSON.stringify({ id: 'x'.repeat(2_000), method: 'environment/status' }))).toMatchObject({
      id: -1,
    });
    // Two requests may bear the same id; each is answered.
    client.send({ id: 'twice', method: 'environment/status' });
    client.send({ id: 'twice', method: 'environment/status' });
    await client.until(() => client.received.filter((message) => message.id === 'twice').length === 2);
  });

  it('ends the connection on a message above the limit, and goes on serving others', async () => {
    const client = await connect(kind);
    await client.later();
    const huge = 'x'.repeat(65 * 1024 * 1024);
    client.sendText(huge);
    await client.closed;
    if (kind === 'websocket' && client.server !== undefined) {
      const other = await connectWebSocket(client.server.url);
      expect(await other.later()).toBeDefined();
    } else expect(await client.server?.exited).toBe(0);
  });
});

describe('a path that is longer than any can be', () => {
  it('is refused where it is read, in both dialects', async () => {
    const [first, later] = [rawPair(ownServer()), rawPair(ownServer())];
    await first.first();
    await later.later();
    const long = '/a'.repeat(2_048);
    const refusal = { code: -32602, message: expect.stringMatching(/at most 4095 bytes/) };
    expect((await first.call('process/start', start('p', 'true', { cwd: long }))).error).toEqual(refusal);
    expect((await later.call('process/start', laterStart('p', 'true', { cwd: `file://${long}` }))).error).toEqual(
      refusal,
    );
    expect((await later.call('fs/copy', { sourcePath: 'file:///', destinationPath: `file://${long}` })).error).toEqual(
      refusal,
    );
    const longest = `file://${long.slice(0, 4_095)}`;
    expect((await later.call('fs/readFile', { path: longest })).error.code).toBe(-32004);
  });
});

describe('hostile WebSockets', () => {
  it('are refused before the upgrade when a web page opens them', async () => {
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1']) {
      const socket = new WebSocket(shared().url, { origin });
      const [, response] = await once(socket, 'unexpected-response');
      expect(response.statusCode).toBe(403);
      socket.on('error', () => {});
      socket.terminate();
    }
  });

  it('need the token when there is one, which never shows up anywhere', async () => {
    const server = await builtServer(['--listen', 'ws://127.0.0.1:0'], { EXECUTOR_API_KEY: 's3cret' });
    const refused = new WebSocket(`${server.url}?token=s3cret`);
    const [, response] = await once(refused, 'unexpected-response');
    expect(response.statusCode).toBe(401);
    refused.on('error', () => {});
    refused.terminate();
    const socket = new WebSocket(server.url, { headers: { authorization: 'Bearer s3cret' } });
    await once(socket, 'open');
    const got: string[] = [];
    socket.on('message', (data) => got.push(String(data)));
    const send = (message: unknown): void => socket.send(JSON.stringify(message));
    send({ id: 1, method: 'initialize', params: { clientName: 'x', resumeSessionId: null } });
    send({ method: 'initialized' });
    const policy = { inherit: 'all', ignoreDefaultExcludes: true, exclude: [], set: {}, includeOnly: [] };
    send({ id: 2, method: 'process/start', params: laterStart('e', 'env', { envPolicy: policy }) });
    await expect.poll(() => got.some((text) => text.includes('process/closed'))).toBe(true);
    const output = got.map((text) => JSON.parse(text)).filter(({ method }) => method === 'process/output');
    const env = output.map(({ params }) => Buffer.from(params.chunk, 'base64').toString()).join('');
    expect(env).toContain('PATH=');
    expect(env + server.stderr()).not.toContain('s3cret');
    socket.terminate();
  });

  it('may send binary frames with JSON, pings without end, and leave in the middle of a frame', async () => {
    const socket = new WebSocket(shared().url);
    await once(socket, 'open');
    const answers: string[] = [];
    socket.on('message', (data) => answers.push(String(data)));
    socket.on('error', () => {});
    for (let count = 0; count < 20_000; count += 1) socket.ping('x');
    socket.send(Buffer.from('{"id":1,"method":"initialize","params":{"clientName":"x","resumeSessionId":null}}'), {
      binary: true,
    });
    await expect.poll(() => answers.length).toBe(1);
    socket.send('{"id":2,"meth', { fin: false });
    socket.terminate();
    const other = await connectWebSocket(shared().url);
    expect(await other.later()).toBeDefined();
    const empty = await connectWebSocket(shared().url);
    empty.sendText('');
    await empty.closed;
  });
});

describe('limits', () => {
  it('of processes, pending requests, and names give the error of the protocol', async () => {
    const client = rawPair(ownServer({ limits: { processes: 2, pendingRequests: 3, idLength: 10 } }));
    await client.later();
    for (const id of ['a', 'b']) await client.call('process/start', laterStart(id, 'exec sleep 60'));
    const third = await client.call('process/start', laterStart('c', 'true'));
    expect(third.error).toEqual({ code: -32600, message: 'too many processes: the limit is 2' });
    await client.call('process/terminate', { processId: 'a' });
    await client.notification('process/closed', 'a');
    expect(await client.call('process/start', laterStart('c', 'true'))).toHaveProperty('result');
    await client.notification('process/closed', 'c');
    for (let count = 0; count < 3; count += 1) void client.call('process/wait', { processId: 'b' });
    expect((await client.call('process/read', { processId: 'b', waitMs: 60_000 })).error).toEqual({
      code: -32600,
      message: 'too many pending requests: the limit is 3',
    });
    // Whoever has too much under way can still end it.
    expect((await client.call('process/terminate', { processId: 'b' })).result).toEqual({ running: true });
    await client.notification('process/closed', 'b');
    expect((await client.call('process/start', laterStart('x'.repeat(11), 'true'))).error.code).toBe(-32602);
  });

  it('of remembered writes', async () => {
    const client = rawPair(ownServer({ limits: { writeIds: 2 } }));
    await client.later();
    await client.call('process/start', laterStart('c', 'exec cat', { pipeStdin: true }));
    for (const writeId of ['1', '2', '3', '3', '2', '1']) {
      await client.call('process/write', { processId: 'c', writeId, chunk: base64(writeId) });
    }
    await client.call('process/closeStdin', { processId: 'c' });
    await client.notification('process/closed', 'c');
    expect(client.output('c')).toBe('1231');
  });

  it('of chunks can be asked for by the client', async () => {
    const client = rawPair(ownServer());
    await client.call('initialize', { clientName: 'x', maxChunkBytes: 3 });
    client.send({ method: 'initialized' });
    await client.call('process/start', start('p', 'printf 12345678'));
    await client.notification('process/exited', 'p');
    const sizes = client.received
      .filter(({ method }) => method === 'process/output')
      .map(({ params }) => params.chunk.length);
    expect(sizes).toEqual([4, 4, 4]);
    expect(client.output('p')).toBe('12345678');
  });
});

describe('many processes one after another', () => {
  it('leave nothing behind: handles, memory, zombies', async () => {
    const client = await connect('stdio');
    await client.later();
    const pid = client.server?.child.pid;
    const { readdirSync, readFileSync } = await import('node:fs');
    const handles = (): number => readdirSync(`/proc/${pid}/fd`).length;
    const children = (): number =>
      readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).length;
    const round = async (from: number): Promise<void> => {
      for (let count = from; count < from + 10; count += 1) {
        await Promise.all(
          Array.from({ length: 10 }, async (_, index) => {
            const id = `p${count}-${index}`;
            await client.call('process/start', laterStart(id, '', { argv: ['true'], tty: index === 0 }));
            await client.notification('process/closed', id);
          }),
        );
      }
      client.received.length = 0;
    };
    await round(0);
    const before = handles();
    await round(10);
    await round(20);
    expect(handles()).toBeLessThanOrEqual(before + 2);
    // The guardian is the one child that stays.
    expect(children()).toBeLessThanOrEqual(1);
  });
});

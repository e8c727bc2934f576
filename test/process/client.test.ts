import { once } from 'node:events';
import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import { ExecClient, type SessionEvent, spawnLocalExecServer } from '../../src/process/index.js';
import { listenWebSocket, memoryPair, webSocketTransport } from '../../src/wire/index.js';
import { SALLYPORT } from '../e2e/command.js';
import { gone, numbers } from '../sandbox/helpers.js';
import { ownListener, ownServer } from './helpers.js';
import { PATH } from './raw-client.js';

const COMMAND = { argv: [process.execPath, SALLYPORT, 'exec-server'], stderr: 'ignore' } as const;
const sh = (script: string) => ({ argv: ['sh', '-c', script], cwd: '/tmp', env: { PATH } });

/** The four ways to reach a server. */
const WAYS: Record<string, () => Promise<ExecClient>> = {
  'in process': async () => ExecClient.connectInProcess(ownServer()),
  'over stdio': () => ExecClient.connectStdio(COMMAND),
  'over WebSocket': async () => ExecClient.connectWebSocket((await ownListener()).url),
  'over a transport': async () => {
    const [near, far] = memoryPair<unknown, unknown>();
    ownServer().serveConnection(far);
    return ExecClient.connect(near);
  },
};

async function open(way: string): Promise<ExecClient> {
  const client = await WAYS[way]?.();
  if (client === undefined) throw new Error(way);
  onTestFinished(() => client.close());
  return client;
}

describe.each(Object.keys(WAYS))('a client %s', (way) => {
  it('runs commands and collects what they write', async () => {
    const client = await open(way);
    const events: SessionEvent[] = [];
    client.onEvent((event) => events.push(event));
    const handle = await client.start(sh('echo out; echo err >&2; exit 4'));
    const result = await handle.collect();
    expect({ ...result, stdout: String(result.stdout), stderr: String(result.stderr) }).toEqual({
      exitCode: 4,
      timedOut: false,
      stdout: 'out\n',
      stderr: 'err\n',
    });
    expect(events.at(-1)?.type).toBe('closed');
    expect(client.dialect).toBe('later');
    expect(await client.list()).toMatchObject([{ processId: handle.processId, exitCode: 4, closed: true }]);
  });

  it('feeds, resizes, signals and ends processes', async () => {
    const client = await open(way);
    const cat = await client.start({ ...sh('exec cat'), stdio: 'pipes-with-stdin' });
    await cat.write('hello');
    await cat.closeStdin();
    expect(String((await cat.collect()).stdout)).toBe('hello');
    const terminal = await client.start({
      ...sh('stty size; read x; stty size'),
      stdio: { kind: 'terminal', rows: 5, cols: 9 },
    });
    const output = terminal.output;
    expect(String((await output.next()).value)).toBe('5 9\r\n');
    await terminal.resize({ rows: 7, cols: 8 });
    await terminal.write('\n');
    let rest = '';
    for await (const bytes of output) rest += bytes;
    expect(rest).toContain('7 8');
    const sleeper = await client.start(sh('exec sleep 60'));
    await sleeper.signal('SIGUSR1');
    expect((await sleeper.wait()).exitCode).toBe(138);
    const stubborn = await client.start({ ...sh('exec sleep 60'), timeoutMs: 50 });
    expect(await stubborn.wait()).toEqual({ exitCode: 143, timedOut: true });
    const last = await client.start(sh('exec sleep 60'));
    expect(await last.terminate()).toBe(true);
    expect((await last.wait()).exitCode).toBe(137);
    await expect(last.write('x')).rejects.toThrow('stdinClosed');
  });

  it('reads at its own pace without losing a byte, and waits without reading', async () => {
    const client = await open(way);
    const handle = await client.start(sh('head -c 5000000 /dev/zero'));
    let bytes = 0;
    for await (const chunk of handle.output) {
      bytes += chunk.length;
      if (bytes % 7 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    expect(bytes).toBe(5_000_000);
    const unread = await client.start(sh('head -c 5000000 /dev/zero; exit 9'));
    expect((await unread.wait()).exitCode).toBe(9);
  });

  it('reaches files, the environment and HTTP, and says why something is refused', async () => {
    const client = await open(way);
    expect(await client.fs.getMetadata('/tmp')).toMatchObject({ isDirectory: true });
    expect(await client.fs.canonicalize('/tmp/../tmp')).toBe('/tmp');
    expect((await client.fs.readFile('/proc/self/comm')).length).toBeGreaterThan(0);
    expect((await client.environmentInfo()).cwd).toMatch(/^\//);
    await expect(client.httpRequest('ftp://x/')).rejects.toMatchObject({ kind: 'invalidParams' });
    await expect(client.fs.readFile('/no/such')).rejects.toSatisfy((error) => {
      // In this process errors of the system come as they are; over a wire they have the protocol's number.
      return way === 'in process' ? error instanceof Error : isSallyportError(error, 'PROCESS_REFUSED');
    });
    await expect(client.start({ argv: [], cwd: '/tmp' })).rejects.toThrow('argv must not be empty');
    await expect(client.start({ argv: ['no-such'], cwd: '/tmp' })).rejects.toThrow(/no such file/);
  });

  it('offers events as an iterable, until it is closed', async () => {
    const client = await open(way);
    const seen: string[] = [];
    const all = (async () => {
      for await (const event of client.events()) seen.push(event.type);
    })();
    const handle = await client.start(sh('echo hi'));
    await handle.collect();
    await client.close();
    await all;
    expect(seen).toEqual(['output', 'exited', 'closed']);
    await expect(client.start(sh('true'))).rejects.toThrow();
  });
});

describe('a client whose connection is lost', () => {
  it('resumes the session by itself, and nothing is lost or doubled', async () => {
    const server = ownServer();
    const sockets = new Set<{ terminate(): void }>();
    const listener = await listenWebSocket({ host: '127.0.0.1', port: 0 }, (socket) => {
      sockets.add(socket);
      server.serveConnection(webSocketTransport(socket, server.transportOptions));
    });
    onTestFinished(() => listener.close());
    const client = await ExecClient.connectWebSocket(listener.url);
    onTestFinished(() => client.close());
    const handle = await client.start({
      ...sh('for i in $(seq 1 300); do echo $i; sleep 0.003; done; read x; echo got $x'),
      stdio: 'pipes-with-stdin',
    });
    let text = '';
    const reading = (async () => {
      for await (const bytes of handle.output) {
        text += bytes;
        // Twice in the middle of it all the line is cut.
        if ((sockets.size === 1 && text.includes('\n50\n')) || (sockets.size === 2 && text.includes('\n150\n'))) {
          for (const socket of sockets) socket.terminate();
        }
      }
    })();
    await expect.poll(() => text.includes('\n300\n')).toBe(true);
    await handle.write('input\n');
    await reading;
    const expected = `${Array.from({ length: 300 }, (_, index) => index + 1).join('\n')}\ngot input\n`;
    expect(text).toBe(expected);
    expect((await handle.wait()).exitCode).toBe(0);
    expect(sockets.size).toBeGreaterThanOrEqual(3);
  });

  it('gives up with a reason when the server is gone', async () => {
    const server = ownServer();
    const listener = await listenWebSocket({ host: '127.0.0.1', port: 0 }, (socket) => {
      server.serveConnection(webSocketTransport(socket, server.transportOptions));
    });
    const client = await ExecClient.connectWebSocket(listener.url, { resumeTimeoutMs: 200 });
    const handle = await client.start(sh('exec sleep 60'));
    const waiting = handle.wait();
    await listener.close();
    await expect(waiting).rejects.toSatisfy((error) => isSallyportError(error, 'PROCESS_CONNECTION_LOST'));
    await expect(client.start(sh('true'))).rejects.toThrow(/lost/);
  });
});

describe('connecting', () => {
  it('fails within the handshake timeout when the other side says nothing', async () => {
    const silent = createServer((socket) => socket.resume());
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    onTestFinished(() => void silent.close());
    const [near] = memoryPair<unknown, unknown>();
    await expect(ExecClient.connect(near, { handshakeTimeoutMs: 50 })).rejects.toSatisfy((error) =>
      isSallyportError(error, 'PROCESS_HANDSHAKE'),
    );
    await expect(ExecClient.connectStdio({ argv: ['/no/such/program'] })).rejects.toThrow();
    await expect(ExecClient.connectStdio({ argv: ['true'] })).rejects.toSatisfy((error) =>
      isSallyportError(error, 'PROCESS_HANDSHAKE'),
    );
    await expect(ExecClient.connectWebSocket('ws://127.0.0.1:1')).rejects.toThrow('cannot connect');
  });

  it('recognizes a server of the first dialect by its answer', async () => {
    const [near, far] = memoryPair<unknown, unknown>();
    // Such a server does not know the key that tells the dialects apart.
    const [inner, outer] = memoryPair<unknown, unknown>();
    ownServer().serveConnection(outer);
    far.onMessage((message) => {
      const text = JSON.stringify(message).replace(',"resumeSessionId":null', '');
      return inner.send(JSON.parse(text));
    });
    inner.onMessage((message) => far.send(message));
    const client = await ExecClient.connect(near);
    expect(client.dialect).toBe('first');
    const result = await (await client.start(sh('echo hi; exit 2'))).collect();
    expect([String(result.stdout), result.exitCode]).toEqual(['hi\n', 2]);
    await client.close();
  });

  it('starts a local server separately, which ends with its transport', async () => {
    const server = spawnLocalExecServer(COMMAND);
    const client = await ExecClient.connect(server.transport);
    const handle = await client.start(sh('echo $$; exec sleep 60'));
    const { value } = await handle.output.next();
    await client.close();
    expect(await server.exited).toBe(0);
    expect(await gone(numbers(String(value)))).toBe(true);
  });
});

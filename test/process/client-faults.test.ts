import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ExecPeer, ReadOutput } from '../../src/process/client/peer.js';
import { ProcessHandle } from '../../src/process/client/process-handle.js';
import { remotePeer } from '../../src/process/client/remote-peer.js';
import { CLIENT_BUFFER_BYTES, ExecClient } from '../../src/process/index.js';
import { memoryPair, type Transport } from '../../src/wire/index.js';
import { ownListener, ownServer } from './helpers.js';
import { type Message, PATH } from './raw-client.js';

const sh = (script: string) => ({ argv: ['sh', '-c', script], cwd: '/tmp', env: { PATH } });
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** A client of a server that answers as the test says. */
function scripted(answer: (message: Message, send: (message: unknown) => void) => void): Promise<ExecClient> {
  const [near, far] = memoryPair<unknown, unknown>();
  const send = (message: unknown): void => void far.send(message);
  far.onMessage((message: Message) => {
    if (message.method === 'initialize') send({ id: message.id, result: { sessionId: 's', capabilities: {} } });
    else answer(message, send);
  });
  return ExecClient.connect(near);
}

const WAYS = {
  'in process': async () => ExecClient.connectInProcess(ownServer()),
  'over WebSocket': async () => ExecClient.connectWebSocket((await ownListener()).url),
};

describe.each(Object.entries(WAYS))('a client %s that does not read a flood', (way, connect) => {
  it('can end the process, stop reading, and close', async () => {
    const client = await connect();
    const unread = await client.start(sh('yes'));
    await pause(300);
    expect(await unread.terminate()).toBe(true);
    const first = await unread.output.next();
    expect(String(first.value).slice(0, 2)).toBe('y\n');
    const left = await client.start(sh('yes'));
    for await (const _piece of left.pieces()) break;
    expect((await client.list()).length).toBe(2);
    await client.start(sh('yes'));
    await pause(300);
    await client.close();
    if (way === 'over WebSocket')
      await expect(client.list()).rejects.toMatchObject({ code: 'PROCESS_CONNECTION_LOST' });
  });
});

describe('a client', () => {
  it('fails a request that cannot be sent, and no other', async () => {
    const client = await ExecClient.connectWebSocket((await ownListener()).url);
    onTestFinished(() => client.close());
    await expect(client.read('x', 1n as unknown as number)).rejects.toThrow(/BigInt/);
    expect(await client.list()).toEqual([]);
  });

  it('takes exit codes below 0, and times before 1970', async () => {
    const odd = await scripted((message, send) => {
      if (message.method !== 'process/start') return;
      send({ id: message.id, result: { processId: message.params.processId } });
      const { processId } = message.params;
      send({ method: 'process/exited', params: { processId, seq: 1, exitCode: -1 } });
      send({ method: 'process/closed', params: { processId, seq: 2 } });
    });
    expect((await (await odd.start(sh('true'))).wait()).exitCode).toBe(-1);
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-old-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'old'), '');
    utimesSync(join(folder, 'old'), new Date(-1_000_000), new Date(-1_000_000));
    const client = await ExecClient.connectWebSocket((await ownListener()).url);
    onTestFinished(() => client.close());
    expect((await client.fs.getMetadata(join(folder, 'old'))).modifiedAtMs).toBe(-1_000_000);
  });

  it('does not gather without end what comes before the answer to a start', async () => {
    const client = await scripted((message, send) => {
      if (message.method !== 'process/start') return;
      const { processId } = message.params;
      for (let seq = 1; seq < 5_000; seq += 1) {
        send({ method: 'process/output', params: { processId, seq, stream: 'stdout', chunk: '' } });
      }
    });
    await expect(client.start(sh('true'))).rejects.toThrow(/lost|before it has started/);
  });

  it('leaves no connection behind when it is closed while it resumes', async () => {
    const server = ownServer();
    const pairTo = (): { near: Transport<unknown, unknown>; far: Transport<unknown, unknown> } => {
      const [near, far] = memoryPair<unknown, unknown>();
      server.serveConnection(far);
      return { near, far };
    };
    const [first, second] = [pairTo(), pairTo()];
    let reconnected = (_transport: Transport<unknown, unknown>): void => {};
    let ends = 0;
    const peer = await remotePeer(
      first.near,
      () =>
        new Promise((resolve) => {
          reconnected = resolve;
        }),
      { clientName: 'test' },
      {
        onEvent: () => {},
        onResumed: () => {},
        onClosed: () => {
          ends += 1;
        },
      },
    );
    first.far.terminate();
    await pause(20);
    await peer.close();
    expect(ends).toBe(1);
    const closed = new Promise((resolve) => second.far.onClose(resolve));
    reconnected(second.near);
    await closed;
    expect(ends).toBe(1);
    await expect(peer.list()).rejects.toMatchObject({ code: 'PROCESS_CONNECTION_LOST' });
  });
});

describe('a process whose client resumes', () => {
  it('loses nothing while what was missed waits for its reader', async () => {
    const output = (seq: number, size: number) => ({ seq, stream: 'stdout' as const, bytes: Buffer.alloc(size, seq) });
    const answers: ReadOutput[] = [
      {
        chunks: [output(1, CLIENT_BUFFER_BYTES), output(2, 10), output(3, 10)],
        nextSeq: 5,
        exited: true,
        exitCode: 137,
        closed: false,
        firstSeq: undefined,
      },
    ];
    const peer = {
      dialect: 'later',
      read: async () => answers.shift(),
      timedOut: async () => true,
    } as unknown as ExecPeer;
    const handle = new ProcessHandle('p', peer);
    handle.hold();
    const recovered = handle.recover();
    await pause(10);
    void handle.take({ type: 'output', processId: 'p', ...output(5, 10) });
    void handle.take({ type: 'closed', processId: 'p', seq: 6 });
    const seen: number[] = [];
    for await (const { bytes } of handle.pieces()) seen.push(bytes[0] ?? 0);
    await recovered;
    expect(seen).toEqual([1, 2, 3, 5]);
    expect(await handle.wait()).toEqual({ exitCode: 137, timedOut: true });
  });
});

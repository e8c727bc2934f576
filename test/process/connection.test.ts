import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Connection } from '../../src/process/connection.js';
import { EncodedJson, memoryPair, type Transport } from '../../src/wire/index.js';
import { ownServer } from './helpers.js';
import { type Message, uri } from './raw-client.js';

type Send = (message: Message, pass: () => void) => void | Promise<void>;

/** A client at the near end of a pair, whose far end sends as the test says. */
function clientOf(server: ReturnType<typeof ownServer>, send: Send) {
  const [near, far] = memoryPair<unknown, unknown>();
  const received: Message[] = [];
  near.onMessage((message) => void received.push(message));
  const transport: Transport<unknown, unknown> = {
    send: (message) => send(message, () => void far.send(message)),
    onMessage: (handler) => far.onMessage(handler),
    onClose: (handler) => far.onClose(handler),
    close: (reason) => far.close(reason),
    terminate: () => far.terminate(),
  };
  server.serveConnection(transport);
  near.send({ id: 0, method: 'initialize', params: { clientName: 'test', resumeSessionId: null } });
  near.send({ method: 'initialized' });
  const answered = (id: number): boolean => received.some((message) => message.id === id);
  return { near, received, answered };
}

const until = async (done: () => boolean): Promise<void> => {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
};

describe('a connection', () => {
  it('answers with an error when an answer cannot be written as a message', async () => {
    const { near, received, answered } = clientOf(ownServer(), (message, pass) => {
      if (message.result?.processes !== undefined) throw new RangeError('Invalid string length');
      pass();
    });
    near.send({ id: 1, method: 'process/list', params: {} });
    await until(() => answered(1));
    expect(received.at(-1)).toMatchObject({
      id: 1,
      error: { code: -32603, message: expect.stringContaining('Invalid string length') },
    });
  });

  it('counts what is on the wire, however little of it is output', () => {
    let wire = 0;
    const transport: Transport<unknown, unknown> = {
      carriesJson: true,
      send: (message) => {
        wire += message instanceof EncodedJson ? message.line.length : 0;
        return new Promise(() => {});
      },
      onMessage: () => () => {},
      onClose: () => () => {},
      close: () => {},
      terminate: () => {},
    };
    const server = ownServer();
    const connection = new Connection(server.handler, transport);
    const bytes = Buffer.from('x');
    for (let seq = 1; ; seq += 1) {
      const event = { type: 'output', processId: 'ü'.repeat(500), seq, stream: 'stdout', bytes } as const;
      if (connection.deliver(event) === 'wait') break;
    }
    expect(wire).toBeLessThan(server.limits.sendWindowBytes + 4_096);
  });

  it('reads no more files at once than it may, until the answers have left', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-turns-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'file'), 'x'.repeat(1_000));
    for (const limits of [{ fileRequests: 1 }, { fileBytes: 1_500 }]) {
      let leave = (): void => {};
      const { near, answered } = clientOf(ownServer({ limits }), (message, pass) => {
        pass();
        if (message.result?.dataBase64 === undefined) return;
        return new Promise((resolve) => {
          leave = resolve;
        });
      });
      for (const id of [1, 2]) near.send({ id, method: 'fs/readFile', params: { path: uri(join(folder, 'file')) } });
      // Which of them comes first is up to the file system.
      const ids = (): number[] => [1, 2].filter(answered);
      await until(() => ids().length > 0);
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(ids()).toHaveLength(1);
      leave();
      await until(() => ids().length === 2);
    }
  });
});

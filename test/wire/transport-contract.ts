import { describe, expect, it, onTestFinished } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import type { CloseReason, Transport } from '../../src/wire/transport.js';

export interface Message {
  readonly n: number;
  readonly text?: string;
}

export interface Ends {
  readonly left: Transport<Message, Message>;
  readonly right: Transport<Message, Message>;
  /** Ends what is behind the transports, whatever state they are in. */
  dispose(): Promise<void> | void;
}

const closed = (transport: Transport<Message, Message>): Promise<CloseReason> =>
  new Promise((resolve) => transport.onClose(resolve));

/** What every transport promises, whatever carries it. */
export function transportContract(name: string, open: () => Promise<Ends>): void {
  const connect = async (): Promise<Ends> => {
    const ends = await open();
    onTestFinished(() => ends.dispose());
    return ends;
  };

  describe(`${name}, as a transport`, () => {
    it('delivers messages in order, both ways, none before somebody listens', async () => {
      const { left, right } = await connect();
      for (let n = 0; n < 100; n += 1) void left.send({ n });
      const seen: number[] = [];
      await new Promise<void>((resolve) => {
        right.onMessage((message) => {
          seen.push(message.n);
          if (message.n === 99) resolve();
        });
      });
      expect(seen).toEqual(Array.from({ length: 100 }, (_, n) => n));
      const answer = new Promise<Message>((resolve) => left.onMessage(resolve));
      void right.send({ n: 7, text: 'héllo 🌍\n' });
      expect(await answer).toEqual({ n: 7, text: 'héllo 🌍\n' });
    });

    it('tells the peer of a close, and replays the reason to late subscribers', async () => {
      const { left, right } = await connect();
      right.onMessage(() => {});
      left.close('enough');
      expect((await closed(right)).kind).toBe('peer-closed');
      expect(await closed(left)).toMatchObject({ kind: 'closed', message: 'enough' });
      expect((await closed(right)).kind).toBe('peer-closed');
    });

    it('delivers what was sent before a close', async () => {
      const { left, right } = await connect();
      const seen: number[] = [];
      right.onMessage((message) => {
        seen.push(message.n);
      });
      for (let n = 0; n < 50; n += 1) void left.send({ n });
      left.close();
      await closed(right);
      expect(seen).toHaveLength(50);
    });

    it('fails a send after the close, and says why it was closed', async () => {
      const { left } = await connect();
      left.close('enough');
      try {
        await left.send({ n: 1 });
        expect.unreachable();
      } catch (error) {
        expect(isSallyportError(error, 'WIRE_CLOSED')).toBe(true);
        expect((error as Error).message).toContain('enough');
      }
    });

    it('ends at once on terminate, for both sides', async () => {
      const { left, right } = await connect();
      right.onMessage(() => {});
      left.terminate();
      expect((await closed(left)).kind).toBe('terminated');
      expect(['peer-closed', 'error']).toContain((await closed(right)).kind);
      left.terminate();
      left.close();
    });

    it('holds back the next message while a handler is busy', async () => {
      const { left, right } = await connect();
      let busy = false;
      let overlaps = 0;
      const seen: number[] = [];
      const all = new Promise<void>((resolve) => {
        right.onMessage(async (message) => {
          if (busy) overlaps += 1;
          busy = true;
          await new Promise((next) => setImmediate(next));
          busy = false;
          seen.push(message.n);
          if (message.n === 19) resolve();
        });
      });
      for (let n = 0; n < 20; n += 1) void left.send({ n });
      await all;
      expect(overlaps).toBe(0);
      expect(seen).toEqual(Array.from({ length: 20 }, (_, n) => n));
    });

    it('makes the sender wait for a receiver that stopped, and lets it go on afterwards', async () => {
      const { left, right } = await connect();
      let release = (): void => {};
      const gate = new Promise<void>((resolve) => {
        release = resolve;
      });
      let received = 0;
      right.onMessage(async () => {
        received += 1;
        await gate;
      });
      const text = 'x'.repeat(16 * 1024);
      let sent = 0;
      let waited: Promise<void> | undefined;
      while (sent < 3000 && !waited) {
        const result = left.send({ n: sent, text });
        sent += 1;
        if (result) {
          const first = await Promise.race([result.then(() => 'went on'), tick().then(() => 'waits')]);
          if (first === 'waits') waited = result;
        }
        if (sent % 16 === 0) await tick();
      }
      expect(waited, 'the sender was never asked to wait').toBeDefined();
      expect(received).toBe(1);
      release();
      await waited;
      left.close();
      await closed(right);
      expect(received).toBe(sent);
    });

    it('lets a sender that waits go when the transport ends', async () => {
      const { left, right } = await connect();
      right.onMessage(() => new Promise<void>(() => {}));
      const text = 'x'.repeat(64 * 1024);
      let waiting: Promise<void> | undefined;
      for (let n = 0; n < 2000 && !waiting; n += 1) {
        const result = left.send({ n, text });
        if (result) waiting = result;
        if (n % 16 === 0) await tick();
      }
      left.terminate();
      await waiting;
    });

    it('stops delivering to a handler that unsubscribed', async () => {
      const { left, right } = await connect();
      const first: number[] = [];
      const second: number[] = [];
      const stop = right.onMessage((message) => {
        first.push(message.n);
      });
      right.onMessage((message) => {
        second.push(message.n);
        if (message.n === 0) stop();
      });
      void left.send({ n: 0 });
      void left.send({ n: 1 });
      left.close();
      await closed(right);
      expect(first).toEqual([0]);
      expect(second).toEqual([0, 1]);
    });
  });
}

/** Lets sockets and pipes make progress. */
async function tick(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise((next) => setImmediate(next));
}

import { type Check, NotApplicable } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue, isAnswer, isStreamPart } from '../target/duplex-peer.js';
import { showWire } from '../target/frame-codec.js';
import { type GuestSession, indexOf } from './session.js';

const group = 'Streams';

/** Bytes of one chunk; a guest that sends numbers does not need them. */
const SIZE = 8;

function produce(session: GuestSession, stream: string, count: number, more: object = {}): string {
  return session.call('produce', { stream, count, size: SIZE, ...more });
}

async function expectIndexes(session: GuestSession, stream: string, count: number): Promise<void> {
  const { chunks, ending } = await session.stream(stream);
  expectValue(chunks.map(indexOf), [...Array(count).keys()], `the chunks of ${stream}`);
  expectValue(ending['type'], 4, 'the type of the ending');
}

/** Streams in both directions. */
export const STREAM_CHECKS: readonly Check<GuestSession>[] = [
  {
    id: 'wasm.streams.chunks',
    title: 'A stream of the guest has its chunks in order and a StreamEnd',
    level: 'MUST',
    group,
    cites: [
      'duplex-rpc.architecture.streams',
      'duplex-rpc.streaming.chunks-then-end',
      'duplex-rpc.chunk.chunk',
      'duplex-rpc.end.completed',
    ],
    async run(session) {
      produce(session, 'stream-1', 5);
      await expectIndexes(session, 'stream-1', 5);
    },
  },
  {
    id: 'wasm.streams.returns',
    title: 'The function that makes a stream returns as well, before, while or after',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.streaming.around'],
    async run(session) {
      const id = produce(session, 'stream-1', 5);
      expectValue(await session.result(id), 5, 'the result');
      await expectIndexes(session, 'stream-1', 5);
    },
  },
  {
    id: 'wasm.streams.given-id',
    title: 'A stream has the id that the caller chose, whatever characters it has',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.stream-by-caller', 'duplex-rpc.streaming.id', 'duplex-rpc.chunk.id'],
    async run(session) {
      for (const stream of ['0', 't é😀', '__proto__', 'x'.repeat(200)]) {
        const id = produce(session, stream, 2);
        await expectIndexes(session, stream, 2);
        await session.result(id);
      }
    },
  },
  {
    id: 'wasm.streams.only-given',
    title: 'Nothing of a stream has another id',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.links-stream', 'duplex-rpc.failure.unknown-id'],
    async run(session) {
      await session.answer(produce(session, 'stream-1', 3));
      await session.quiet('no stream but stream-1', (message) => isStreamPart(message) && message['id'] !== 'stream-1');
    },
  },
  {
    id: 'wasm.streams.nothing-after-end',
    title: 'Nothing follows the end of a stream',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.links-stream', 'duplex-rpc.end.completed'],
    async run(session) {
      const id = produce(session, 'stream-1', 3);
      await session.stream('stream-1');
      await session.answer(id);
      await session.quiet('nothing more of stream-1', isStreamPart);
    },
  },
  {
    id: 'wasm.streams.empty',
    title: 'A stream without chunks has its StreamEnd',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.end.completed'],
    async run(session) {
      produce(session, 'stream-1', 0);
      await expectIndexes(session, 'stream-1', 0);
    },
  },
  {
    id: 'wasm.streams.many',
    title: 'Two thousand chunks arrive, in order',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.streaming.chunks-then-end'],
    async run(session) {
      produce(session, 'stream-1', 2_000);
      await expectIndexes(session, 'stream-1', 2_000);
    },
  },
  {
    id: 'wasm.streams.two',
    title: 'Streams of two calls do not mix',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.chunk.id', 'duplex-rpc.ids.route'],
    async run(session) {
      produce(session, 'one', 40);
      produce(session, 'two', 30);
      await expectIndexes(session, 'two', 30);
      await expectIndexes(session, 'one', 40);
    },
  },
  {
    id: 'wasm.streams.error',
    title: 'A stream that fails ends with a StreamError that has a text, and without a StreamEnd',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.stream-error.text', 'duplex-rpc.streaming.error', 'duplex-rpc.end.not-on-error'],
    async run(session) {
      produce(session, 'stream-1', 2, { error: 'Connection lost' });
      const { chunks, ending } = await session.stream('stream-1');
      expectValue(chunks.map(indexOf), [0, 1], 'the chunks before the error');
      if (ending['type'] === 4) throw new NotApplicable('produce has no `error`');
      expectValue(ending['error'], 'Connection lost', 'the error');
      await session.quiet('nothing after the StreamError', isStreamPart);
    },
  },
  {
    id: 'wasm.streams.consume',
    title: 'A stream of the host is received to its end',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.streams', 'duplex-rpc.end.completed'],
    async run(session) {
      const id = session.call('consume', { stream: 'in-1' });
      session.chunks('in-1', [1, 2, 3.5]);
      session.endStream('in-1');
      expectValue(await session.result(id), [3, 6.5], 'count and sum');
    },
  },
  {
    id: 'wasm.streams.consume-empty',
    title: 'A stream of the host without chunks is received',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.end.completed'],
    async run(session) {
      const id = session.call('consume', { stream: 'in-1' });
      session.endStream('in-1');
      expectValue(await session.result(id), [0, 0], 'count and sum');
    },
  },
  {
    id: 'wasm.streams.consume-waits',
    title: 'A function that receives a stream does not return before its end',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.links-stream'],
    async run(session) {
      const id = session.call('consume', { stream: 'in-1' });
      session.chunks('in-1', [1, 2]);
      await session.peer.quiet('no answer before the StreamEnd', (message) => isAnswer(message, id));
      session.chunks('in-1', [3]);
      session.endStream('in-1');
      expectValue(await session.result(id), [3, 6], 'count and sum');
    },
  },
  {
    id: 'wasm.streams.consume-error',
    title: 'A StreamError of the host fails the function that receives the stream',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.stream-error.text', 'duplex-rpc.streaming.error'],
    async run(session) {
      const id = session.call('consume', { stream: 'in-1' });
      session.chunks('in-1', [1]);
      session.failStream('in-1', 'Connection lost');
      await session.error(id);
    },
  },
  {
    id: 'wasm.streams.consume-two',
    title: 'Streams of the host that come interleaved reach each its own function',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.chunk.id', 'duplex-rpc.ids.route', 'duplex-rpc.ids.interleave'],
    async run(session) {
      const ids = ['one', 'two'].map((stream) => session.call('consume', { stream }));
      for (let round = 0; round < 10; round += 1) {
        session.chunks('one', [1]);
        session.chunks('two', [100]);
      }
      session.endStream('two');
      session.endStream('one');
      expectValue(await session.result(ids[0] ?? ''), [10, 10], 'count and sum of the first');
      expectValue(await session.result(ids[1] ?? ''), [10, 1_000], 'count and sum of the second');
    },
  },
  {
    id: 'wasm.streams.consume-many',
    title: 'Two thousand chunks of the host are received',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.streaming.chunks-then-end'],
    async run(session) {
      const id = session.call('consume', { stream: 'in-1' });
      session.chunks('in-1', Array(2_000).fill(2));
      session.endStream('in-1');
      expectValue(await session.result(id), [2_000, 4_000], 'count and sum');
    },
  },
  {
    id: 'wasm.streams.both-ways',
    title: 'A stream of the guest and one of the host run beside each other',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.streams', 'duplex-rpc.ids.interleave'],
    async run(session) {
      const made = produce(session, 'out', 100);
      const taken = session.call('consume', { stream: 'in' });
      session.chunks('in', Array(100).fill(1));
      session.endStream('in');
      await expectIndexes(session, 'out', 100);
      expectValue(await session.result(taken), [100, 100], 'count and sum');
      expectValue(await session.result(made), 100, 'the result of produce');
    },
  },
  {
    id: 'wasm.streams.own-namespace',
    title: 'A stream may have the id of a call',
    level: 'RECOMMENDED',
    reason: 'callers count their calls and their streams on their own; the published client gives both the id 0',
    group,
    cites: [],
    async run(session) {
      const id = session.call('produce', { stream: '0', count: 3, size: SIZE }, { id: '0' });
      await expectIndexes(session, '0', 3);
      expectThat((await session.result(id)) === 3, 'the result 3', showWire(id));
    },
  },
];

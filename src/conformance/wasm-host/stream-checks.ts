import type { Check } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue, isStreamPart } from '../target/duplex-peer.js';
import { showWire } from '../target/frame-codec.js';
import { type HostSession, receiving, sending } from './session.js';

const group = 'Streams';

/** Begins a call with streams in its params, and gives the ids that stand in their places. */
async function streaming(session: HostSession, params: Readonly<Record<string, unknown>>) {
  const begun = await session.begin('work', params);
  const found = Object(begun.call['params']);
  for (const name of Object.keys(params)) {
    expectThat(typeof found[name] === 'string', `the id of the stream ${name}`, showWire(begun.call));
  }
  return { ...begun, idOf: (name: string): string => String(found[name]) };
}

/** Streams in both directions. */
export const STREAM_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'wasm-host.streams.receive',
    title: 'The chunks of a stream reach whoever reads it, in order, and it ends',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.streams', 'duplex-rpc.streaming.chunks-then-end', 'duplex-rpc.end.completed'],
    async run(session) {
      const { id, guest, call, idOf } = await streaming(session, { items: receiving('items') });
      const items = ['Hammer', { name: 'Wrench' }, null, [1, 2], 3];
      guest.chunks(idOf('items'), items);
      guest.endStream(idOf('items'));
      guest.respond(call, 5);
      expectValue(await session.received(id, 'items'), { chunks: items }, 'the stream');
    },
  },
  {
    id: 'wasm-host.streams.receive-after',
    title: 'A stream may go on after the function returned',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.streaming.around'],
    async run(session) {
      const { id, guest, call, idOf } = await streaming(session, { items: receiving('items') });
      guest.chunks(idOf('items'), [1]);
      guest.respond(call);
      guest.chunks(idOf('items'), [2, 3]);
      guest.endStream(idOf('items'));
      expectValue(await session.received(id, 'items'), { chunks: [1, 2, 3] }, 'the stream');
    },
  },
  {
    id: 'wasm-host.streams.receive-empty',
    title: 'A stream without chunks ends',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.end.completed'],
    async run(session) {
      const { id, guest, call, idOf } = await streaming(session, { items: receiving('items') });
      guest.respond(call);
      guest.endStream(idOf('items'));
      expectValue(await session.received(id, 'items'), { chunks: [] }, 'the stream');
    },
  },
  {
    id: 'wasm-host.streams.receive-error',
    title: 'A StreamError fails the stream with its text, after the chunks before it',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.stream-error.text', 'duplex-rpc.streaming.error'],
    async run(session) {
      const { id, guest, call, idOf } = await streaming(session, { items: receiving('items') });
      guest.respond(call);
      guest.chunks(idOf('items'), ['Hammer']);
      guest.failStream(idOf('items'), 'Connection lost');
      const { chunks, error } = await session.received(id, 'items');
      expectValue(chunks, ['Hammer'], 'the chunks');
      expectThat(String(error).includes('Connection lost'), 'the error “Connection lost”', error);
    },
  },
  {
    id: 'wasm-host.streams.receive-two',
    title: 'Streams that come interleaved stay apart',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.chunk.id', 'duplex-rpc.ids.route', 'duplex-rpc.ids.links-stream'],
    async run(session) {
      const { id, guest, call, idOf } = await streaming(session, { a: receiving('a'), b: receiving('b') });
      for (let index = 0; index < 10; index += 1) {
        guest.chunks(idOf('a'), [index]);
        guest.chunks(idOf('b'), [index + 100]);
      }
      guest.endStream(idOf('b'));
      guest.endStream(idOf('a'));
      guest.respond(call);
      const { streams } = await session.worked(id);
      const up = [...Array(10).keys()];
      expectValue(streams, { a: { chunks: up }, b: { chunks: up.map((index) => index + 100) } }, 'the streams');
    },
  },
  {
    id: 'wasm-host.streams.receive-calls',
    title: 'Streams of two calls at once stay apart',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.stream-by-caller', 'duplex-rpc.ids.session'],
    async run(session) {
      const begun = await streaming(session, { items: receiving('items') });
      const { id, guest, call, idOf } = begun;
      const second = session.start('work', { items: receiving('items') });
      const other = await session.alongside(begun);
      const otherId = String(Object(other['params'])['items']);
      expectThat(otherId !== idOf('items'), 'two streams with two ids', otherId);
      guest.chunks(otherId, ['second']);
      guest.chunks(idOf('items'), ['first']);
      guest.endStream(idOf('items'));
      guest.endStream(otherId);
      guest.respond(other);
      guest.respond(call);
      expectValue(await session.received(id, 'items'), { chunks: ['first'] }, 'the stream of the first call');
      expectValue(await session.received(second, 'items'), { chunks: ['second'] }, 'the stream of the second call');
    },
  },
  {
    id: 'wasm-host.streams.receive-many',
    title: 'Two thousand chunks arrive, in order',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.streaming.chunks-then-end'],
    async run(session) {
      const { id, guest, call, idOf } = await streaming(session, { items: receiving('items') });
      const items = [...Array(2_000).keys()];
      guest.chunks(idOf('items'), items);
      guest.endStream(idOf('items'));
      guest.respond(call);
      expectValue(await session.received(id, 'items'), { chunks: items }, 'the stream');
    },
  },
  {
    id: 'wasm-host.streams.send',
    title: 'What the host streams comes as chunks in order and a StreamEnd, with the id that stands in the params',
    level: 'MUST',
    group,
    cites: [
      'duplex-rpc.architecture.streams',
      'duplex-rpc.streaming.id',
      'duplex-rpc.chunk.id',
      'duplex-rpc.chunk.chunk',
    ],
    async run(session) {
      const items = ['Hammer', { name: 'Wrench' }, null, 3];
      const { guest, idOf } = await streaming(session, { items: sending(items) });
      const { chunks, ending } = await guest.stream(idOf('items'));
      expectValue(chunks, items, 'the chunks');
      expectValue(ending['type'], 4, 'the type of the ending');
    },
  },
  {
    id: 'wasm-host.streams.send-after-call',
    title: 'Nothing of a stream comes before the call that carries its id',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.streaming.id'],
    async run(session) {
      session.start('work', { items: sending([1, 2]) });
      const guest = await session.guest();
      const first = await guest.peer.next('a message', (message) => message);
      expectValue(first['type'], 0, 'the type of the first message');
    },
  },
  {
    id: 'wasm-host.streams.send-empty',
    title: 'A stream without chunks has its StreamEnd',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.end.completed'],
    async run(session) {
      const { guest, idOf } = await streaming(session, { items: sending([]) });
      expectValue((await guest.stream(idOf('items'))).ending['type'], 4, 'the type of the ending');
    },
  },
  {
    id: 'wasm-host.streams.send-error',
    title: 'A stream of the host that fails ends with a StreamError that has a text, and without a StreamEnd',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.stream-error.text', 'duplex-rpc.end.not-on-error', 'duplex-rpc.streaming.error'],
    async run(session) {
      const { guest, idOf } = await streaming(session, { items: sending([1], 'Connection lost') });
      const { chunks, ending } = await guest.stream(idOf('items'));
      expectValue(chunks, [1], 'the chunks');
      expectThat(ending['type'] === 5 && typeof ending['error'] === 'string', 'a StreamError', showWire(ending));
      await guest.peer.quiet('nothing after the StreamError', isStreamPart);
    },
  },
  {
    id: 'wasm-host.streams.unique-ids',
    title: 'Every stream has an id of its own, over all calls',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.session', 'duplex-rpc.ids.string'],
    async run(session) {
      const { guest, call: first, idOf } = await streaming(session, { a: sending([1]), b: sending([2]) });
      const seen = [idOf('a'), idOf('b')];
      guest.respond(first);
      for (let round = 0; round < 3; round += 1) {
        session.start('work', { a: sending([1]) });
        const call = await guest.called();
        seen.push(String(Object(call['params'])['a']));
        guest.respond(call);
      }
      expectThat(new Set(seen).size === seen.length, 'ids that differ', showWire(seen));
    },
  },
];

import { encodeFrame, encodeMessagePack } from '../../wire/index.js';
import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { expectValue, isAnswer } from '../target/duplex-peer.js';
import { frameOf } from '../target/frame-codec.js';
import { encodeLong } from '../target/long-forms.js';
import type { GuestSession } from './session.js';

const group = 'Frames';

/** Larger than a pipe holds and than two bytes can count. */
const LARGE_CHARS = 1_000_000;

/** How messages become bytes and back. */
export const FRAME_CHECKS: readonly Check<GuestSession>[] = [
  {
    id: 'wasm.frames.layout',
    title: 'An answer is a frame of version 1 with the length of its payload, which is one MessagePack map',
    level: 'MUST',
    group,
    cites: [
      'duplex-rpc.wire.version',
      'duplex-rpc.wire.length',
      'duplex-rpc.wire.messagepack',
      'duplex-rpc.why.any-program',
    ],
    async run(session) {
      expectValue(await session.result(session.call('add', [1, 2])), 3, 'the result');
    },
  },
  {
    id: 'wasm.frames.one-message',
    title: 'Calls that come together are answered in a frame each',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.one-message'],
    async run(session) {
      const calls = [1, 2, 3].map((number) => session.message('add', [number, 10]));
      session.peer.sendRaw(Buffer.concat(calls.map((call) => encodeFrame(call))));
      for (const [index, { id }] of calls.entries()) {
        expectValue(await session.result(String(id)), 11 + index, `the result of call ${index + 1}`);
      }
    },
  },
  {
    id: 'wasm.frames.byte-by-byte',
    title: 'A frame that arrives one byte at a time is understood',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.byte-stream'],
    async run(session) {
      const call = session.message('add', [1, 2]);
      for (const byte of encodeFrame(call)) {
        session.peer.sendRaw(Uint8Array.of(byte));
        await turn();
      }
      expectValue(await session.result(String(call['id'])), 3, 'the result');
    },
  },
  {
    id: 'wasm.frames.split-header',
    title: 'A frame whose header is cut in two, behind a whole frame, is understood',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.byte-stream', 'duplex-rpc.wire.length'],
    async run(session) {
      const first = session.message('add', [1, 2]);
      const second = session.message('add', [3, 4]);
      const bytes = Buffer.concat([encodeFrame(first), encodeFrame(second)]);
      const cut = encodeFrame(first).length + 2;
      session.peer.sendRaw(bytes.subarray(0, cut));
      expectValue(await session.result(String(first['id'])), 3, 'the result of the first call');
      session.peer.sendRaw(bytes.subarray(cut));
      expectValue(await session.result(String(second['id'])), 7, 'the result of the second call');
    },
  },
  {
    id: 'wasm.frames.large',
    title: 'A payload of a megabyte is taken and given back',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.length'],
    async run(session) {
      const text = 'x'.repeat(LARGE_CHARS);
      const result = await session.result(session.call('echo', text));
      expectThat(
        result === text,
        `${LARGE_CHARS} characters`,
        typeof result === 'string' ? `${result.length}` : result,
      );
    },
  },
  ...[0, 2, 255].map(
    (version): Check<GuestSession> => ({
      id: `wasm.frames.version-${version}`,
      title: `A call in a frame of version ${version} is not carried out`,
      level: 'MUST',
      group,
      cites: ['duplex-rpc.wire.reject-version'],
      async run(session) {
        await session.result(session.call('add', [1, 2]));
        const call = session.message('add', [3, 4]);
        session.peer.sendRaw(frameOf(encodeMessagePack(call), version));
        await session.quietOrEnd(`no result in answer to version ${version}`, (message) =>
          isAnswer(message, String(call['id'])) ? message['type'] === 1 : false,
        );
      },
    }),
  ),
  {
    id: 'wasm.frames.nothing-else',
    title: 'Nothing but frames is written, whatever is called',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.failure.non-protocol', 'duplex-rpc.rationale.strict'],
    async run(session) {
      await session.answer(session.call('add', [1, 2]));
      await session.answer(session.call('divide', [1, 0]));
      await session.answer(session.call('no such function'));
      await session.quiet('nothing after the answers');
    },
  },
  {
    id: 'wasm.frames.unasked',
    title: 'Nothing is said before the first call',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.failure.unknown-id', 'duplex-rpc.failure.unauthorized'],
    async run(session) {
      await session.quiet('nothing');
    },
  },
  {
    id: 'wasm.frames.key-order',
    title: 'The fields of a message may come in any order',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.messagepack'],
    async run(session) {
      session.peer.send({ params: [1, 2], functionName: 'add', id: 'backwards', type: 0 });
      expectValue(await session.result('backwards'), 3, 'the result');
    },
  },
  {
    id: 'wasm.frames.long-forms',
    title: 'Integers and lengths in the longest form of MessagePack are understood',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.messagepack'],
    async run(session) {
      const call = session.message('echo', { list: [1, -1, 1.5, 'text', null, true], more: {} });
      session.peer.sendRaw(frameOf(encodeLong(call)));
      expectValue(await session.result(String(call['id'])), call['params'], 'the result');
    },
  },
  {
    id: 'wasm.frames.float-type',
    title: 'A type that is written as an integral float is understood',
    level: 'RECOMMENDED',
    reason: 'MessagePack has one number for people; encoders of languages without integers write floats',
    group,
    cites: ['duplex-rpc.ids.type'],
    async run(session) {
      const { type: _, ...call } = session.message('add', [1, 2]);
      const rest = Buffer.from(encodeMessagePack(call));
      const head = Buffer.concat([Buffer.of(rest.readUInt8() + 1), Buffer.from('a474797065cb0000000000000000', 'hex')]);
      session.peer.sendRaw(frameOf(Buffer.concat([head, rest.subarray(1)])));
      expectValue(await session.result(String(call['id'])), 3, 'the result');
    },
  },
  {
    id: 'wasm.frames.many',
    title: 'Five hundred frames in one piece are all answered',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.byte-stream', 'duplex-rpc.wire.one-message'],
    async run(session) {
      const calls = Array.from({ length: 500 }, (_, index) => session.message('add', [index, 1]));
      session.peer.sendRaw(Buffer.concat(calls.map((call) => encodeFrame(call))));
      const results = [];
      for (const { id } of calls) results.push(await session.result(String(id)));
      expectEqual(
        results,
        Array.from(calls.keys(), (index) => index + 1),
        'the results',
      );
    },
  },
];

/** Lets what was written go out on its own. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

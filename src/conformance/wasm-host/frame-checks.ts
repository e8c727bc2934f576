import { encodeFrame, encodeMessagePack } from '../../wire/index.js';
import type { Check } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue } from '../target/duplex-peer.js';
import { problemOf } from '../target/duplex-schema.js';
import { frameOf, showWire } from '../target/frame-codec.js';
import { encodeLong } from '../target/long-forms.js';
import type { HostSession } from './session.js';

const group = 'Frames';
const LARGE_CHARS = 1_000_000;

/** How the host turns messages into bytes and back. */
export const FRAME_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'wasm-host.frames.layout',
    title:
      'A call is a frame of version 1 with the length of its payload, one MessagePack map with the fields of its type',
    level: 'MUST',
    group,
    cites: [
      'duplex-rpc.wire.version',
      'duplex-rpc.wire.length',
      'duplex-rpc.wire.messagepack',
      'duplex-rpc.wire.one-message',
      'duplex-rpc.call.fields',
    ],
    async run(session) {
      const { call } = await session.begin('add', [1, 2]);
      const problem = problemOf(call);
      expectThat(problem === undefined, 'a message', `${showWire(call)}: ${problem}`);
    },
  },
  {
    id: 'wasm-host.frames.byte-by-byte',
    title: 'An answer that arrives one byte at a time is understood',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.byte-stream'],
    async run(session) {
      const { id, guest, call } = await session.begin();
      for (const byte of encodeFrame({ type: 1, id: call['id'], result: 'slow' })) {
        guest.peer.sendRaw(Uint8Array.of(byte));
        await new Promise((resolve) => setImmediate(resolve));
      }
      expectValue(await session.value(id), 'slow', 'the result');
    },
  },
  {
    id: 'wasm-host.frames.split-header',
    title: 'A frame whose header is cut in two, behind a whole frame, is understood',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.byte-stream', 'duplex-rpc.wire.length'],
    async run(session) {
      const begun = await session.begin();
      const { id, guest, call } = begun;
      const second = session.start('work');
      const other = await session.alongside(begun);
      const first = encodeFrame({ type: 1, id: call['id'], result: 1 });
      const bytes = Buffer.concat([first, encodeFrame({ type: 1, id: other['id'], result: 2 })]);
      guest.peer.sendRaw(bytes.subarray(0, first.length + 2));
      expectValue(await session.value(id), 1, 'the first result');
      guest.peer.sendRaw(bytes.subarray(first.length + 2));
      expectValue(await session.value(second), 2, 'the second result');
    },
  },
  {
    id: 'wasm-host.frames.together',
    title: 'Answers that arrive in one piece all reach their calls',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.one-message', 'duplex-rpc.architecture.byte-stream'],
    async run(session) {
      const begun = await session.begin();
      const { id, guest, call } = begun;
      const ids = [id, ...Array.from({ length: 20 }, () => session.start('work'))];
      const calls = [call, await session.alongside(begun)];
      while (calls.length < ids.length) {
        const further = await session.soon(guest);
        if (further === undefined) break;
        calls.push(further);
      }
      guest.peer.sendRaw(Buffer.concat(calls.map((one, result) => encodeFrame({ type: 1, id: one['id'], result }))));
      // Where only so many may wait at once, the others come now.
      for (let result = calls.length; result < ids.length; result += 1) guest.respond(await guest.called(), result);
      const results = new Set();
      for (const one of ids) results.add(await session.value(one));
      expectValue(results.size, ids.length, 'the number of results');
    },
  },
  {
    id: 'wasm-host.frames.large',
    title: 'A payload of a megabyte goes to the guest and back',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.length'],
    async run(session) {
      const text = 'x'.repeat(LARGE_CHARS);
      const { id, guest, call } = await session.begin('echo', text);
      guest.respond(call, call['params']);
      const result = await session.value(id);
      expectThat(result === text, `${LARGE_CHARS} characters`, String(result).length);
    },
  },
  {
    id: 'wasm-host.frames.key-order',
    title: 'The fields of a message may come in any order',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.messagepack'],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.peer.send({ result: 3, id: call['id'], type: 1 });
      expectValue(await session.value(id), 3, 'the result');
    },
  },
  {
    id: 'wasm-host.frames.long-forms',
    title: 'Lengths in the longest form of MessagePack are understood, and a type of 64 bits',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.messagepack', 'duplex-rpc.ids.type'],
    async run(session) {
      const { id, guest, call } = await session.begin();
      const result = { list: [1.5, 'text', null, true], more: {} };
      guest.peer.sendRaw(frameOf(encodeLong({ type: 1, id: call['id'], result })));
      expectValue(await session.value(id), result, 'the result');
    },
  },
  {
    id: 'wasm-host.frames.extra-fields',
    title: 'Fields that the protocol does not know are ignored',
    level: 'RECOMMENDED',
    reason: 'a later guest may say more; who fails on it cannot be upgraded apart from it',
    group,
    cites: [],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.peer.send({ type: 1, id: call['id'], result: 3, tookMs: 5 });
      expectValue(await session.value(id), 3, 'the result');
    },
  },
  {
    id: 'wasm-host.frames.version-rejected',
    title: 'An answer in a frame of another version is not taken',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.wire.reject-version'],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.peer.sendRaw(frameOf(encodeMessagePack({ type: 1, id: call['id'], result: 3 }), 2));
      await session.driver.quiet('no result', (message) => message['call'] === id && message['ok'] === true);
      const { ending } = session.driver;
      expectThat(ending === undefined, 'the host to live on', ending?.text);
    },
  },
];

import { encodeMessagePack } from '../../wire/index.js';
import { type Check, CheckFailed } from '../check.js';
import { problemOf } from '../target/duplex-schema.js';
import { frameOf, showWire } from '../target/frame-codec.js';
import type { GuestSession } from './session.js';

const group = 'Failures';

/** Something that no host should send: a guest must neither answer it nor hang on it. */
function survives(name: string, title: string, reason: string, frames: readonly Uint8Array[]): Check<GuestSession> {
  return {
    id: `wasm.failures.${name}`,
    title: `${title} is not answered; the guest goes on or ends`,
    level: 'RECOMMENDED',
    reason,
    group,
    cites: [],
    async run(session) {
      await session.result(session.call('add', [1, 2]));
      for (const frame of frames) session.peer.sendRaw(frame);
      await session.quietOrEnd('nothing');
    },
  };
}

const message = (fields: object): Uint8Array => frameOf(encodeMessagePack(fields));

/** What a guest does when something is wrong. */
export const FAILURE_CHECKS: readonly Check<GuestSession>[] = [
  {
    id: 'wasm.failures.schema',
    title: 'Every message of the guest has the fields of its type',
    level: 'MUST',
    group,
    cites: [
      'duplex-rpc.failure.schema',
      'duplex-rpc.failure.decode',
      'duplex-rpc.ids.type',
      'duplex-rpc.call.fields',
      'duplex-rpc.error.text',
      'duplex-rpc.chunk.chunk',
      'duplex-rpc.rationale.strict',
    ],
    async run(session) {
      const open = new Set([
        session.call('add', [1, 2]),
        session.call('divide', [1, 0]),
        session.call('echo'),
        session.call('produce', { stream: 'out', count: 3, size: 8 }),
        session.call('callHost', { name: 'any', params: 1 }),
        'out',
      ]);
      while (open.size > 0) {
        const found = await session.peer.next(`the end of ${[...open].join()}`, (candidate) => candidate);
        const problem = problemOf(found);
        if (problem !== undefined) {
          throw new CheckFailed({ expected: 'a message', cameBack: `${showWire(found)}: ${problem}` });
        }
        if (found['type'] === 0) session.respond(found, 1);
        else if (found['type'] !== 3) open.delete(String(found['id']));
      }
    },
  },
  survives('undecodable', 'A payload that is no MessagePack', 'a broken host must not make a guest do anything', [
    frameOf('c1'),
  ]),
  survives('no-map', 'A payload that is no map', 'a broken host must not make a guest do anything', [
    frameOf('93010203'),
  ]),
  survives('unknown-type', 'A message of a type that is not known', 'a later version may have more types', [
    message({ type: 9, id: 'nine', functionName: 'add', params: [1, 2] }),
  ]),
  survives(
    'unknown-answer',
    'An answer to a call that was never made',
    'who trusts it takes a result that belongs to nobody',
    [message({ type: 1, id: 'never', result: 1 }), message({ type: 2, id: 'never either', error: 'x' })],
  ),
  survives(
    'unknown-stream',
    'A chunk, end or error of a stream that nobody receives',
    'a stream may outlive the function that received it',
    [
      message({ type: 3, id: 'never', chunk: 1 }),
      message({ type: 4, id: 'never' }),
      message({ type: 5, id: 'never either', error: 'x' }),
    ],
  ),
  {
    id: 'wasm.failures.input-ends',
    title: 'The guest ends when its input does',
    level: 'RECOMMENDED',
    reason: 'a host that is gone cannot end its guests, which would then stay for good',
    group,
    cites: [],
    async run(session) {
      await session.result(session.call('add', [1, 2]));
      session.peer.end();
      await session.peer.ended('the end of the guest');
    },
  },
  {
    id: 'wasm.failures.input-ends-in-frame',
    title: 'The guest ends when its input does, also in the middle of a frame',
    level: 'RECOMMENDED',
    reason: 'a host that is killed stops anywhere',
    group,
    cites: [],
    async run(session) {
      await session.result(session.call('add', [1, 2]));
      session.peer.sendRaw(frameOf('84a2').subarray(0, 6));
      session.peer.end();
      await session.peer.ended('the end of the guest');
    },
  },
  {
    id: 'wasm.failures.input-ends-in-call',
    title: 'The guest ends when its input does, also while it waits for the host',
    level: 'RECOMMENDED',
    reason: 'the answer cannot come any more',
    group,
    cites: [],
    async run(session) {
      session.call('callHost', { name: 'any', params: null });
      await session.called();
      session.peer.end();
      await session.peer.ended('the end of the guest');
    },
  },
];

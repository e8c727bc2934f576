import type { Check } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue, isAnswer } from '../target/duplex-peer.js';
import { showWire } from '../target/frame-codec.js';
import type { GuestSession } from './session.js';

const group = 'Calls';

/** Calls of the host, and what the guest answers. */
export const CALL_CHECKS: readonly Check<GuestSession>[] = [
  {
    id: 'wasm.calls.result',
    title: 'A call is answered with a FunctionResponse that has its id and the result',
    level: 'MUST',
    group,
    cites: [
      'duplex-rpc.architecture.host-requests',
      'duplex-rpc.call.fields',
      'duplex-rpc.response.id',
      'duplex-rpc.response.result',
      'duplex-rpc.ids.links-call',
    ],
    async run(session) {
      const answer = await session.answer(session.call('add', [1, 2], { id: 'a1' }));
      expectValue(answer['type'], 1, 'the type of the answer');
      expectValue(answer['result'], 3, 'the result');
    },
  },
  {
    id: 'wasm.calls.error',
    title: 'A call that fails is answered with a FunctionError that has its id and a text',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.answers', 'duplex-rpc.error.failed', 'duplex-rpc.error.text'],
    async run(session) {
      const error = await session.error(session.call('divide', [1, 0], { id: 'b1' }));
      expectThat(error.length > 0, 'a text for people', '""');
    },
  },
  {
    id: 'wasm.calls.error-text',
    title: 'The text says what failed',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.error.text'],
    async run(session) {
      const error = await session.error(session.call('divide', [1, 0]));
      expectThat(/zero/i.test(error), 'a text about a division by zero', error);
    },
  },
  {
    id: 'wasm.calls.after-error',
    title: 'A failed call does not harm the next one',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.error.failed'],
    async run(session) {
      await session.error(session.call('divide', [1, 0]));
      expectValue(await session.result(session.call('divide', [1, 4])), 0.25, 'the result of the next call');
    },
  },
  {
    id: 'wasm.calls.one-answer',
    title: 'A call is answered exactly once, whether it works or fails',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.links-call'],
    async run(session) {
      const ids = [session.call('add', [1, 2]), session.call('divide', [1, 0])];
      for (const id of ids) await session.answer(id);
      await session.quiet('no second answers', (message) => ids.some((id) => isAnswer(message, id)));
    },
  },
  {
    id: 'wasm.calls.no-params',
    title: 'A call without params is carried out',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.fields', 'duplex-rpc.response.result'],
    async run(session) {
      const result = await session.result(session.call('echo'));
      expectThat(result === undefined || result === null, 'no result, or nil', showWire(result));
    },
  },
  {
    id: 'wasm.calls.any-id',
    title: 'An id comes back as it was, whatever characters it has',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.string', 'duplex-rpc.response.id'],
    async run(session) {
      for (const id of ['0', '007', 'a b', 'é😀', '__proto__', 'x'.repeat(200)]) {
        await session.result(session.call('add', [1, 2], { id }));
        await session.error(session.call('divide', [1, 0], { id: `${id}!` }));
      }
    },
  },
  {
    id: 'wasm.calls.unknown-function',
    title: 'A call of a function that is not there is answered with a FunctionError',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.name', 'duplex-rpc.error.failed'],
    async run(session) {
      await session.error(session.call('no such function', [1]));
    },
  },
  {
    id: 'wasm.calls.inherited-names',
    title: 'Names that languages give a meaning are no functions',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.name', 'duplex-rpc.error.failed'],
    async run(session) {
      for (const name of ['__proto__', 'constructor', 'toString', 'main', '_start', '']) {
        await session.error(session.call(name, [1, 2]));
      }
    },
  },
  {
    id: 'wasm.calls.exact-names',
    title: 'The name of a function is compared exactly',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.name'],
    async run(session) {
      for (const name of ['Add', 'add ', 'ad', 'addd']) await session.error(session.call(name, [1, 2]));
    },
  },
  {
    id: 'wasm.calls.expects-response-true',
    title: 'A call with expectsResponse: true is answered',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      expectValue(await session.result(session.call('add', [1, 2], { expectsResponse: true })), 3, 'the result');
    },
  },
  {
    id: 'wasm.calls.forgotten-result',
    title: 'A call with expectsResponse: false gets no FunctionResponse',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.no-answer'],
    run: (session) => forgotten(session, 'add', [1, 2]),
  },
  {
    id: 'wasm.calls.forgotten-error',
    title: 'A call with expectsResponse: false that fails gets no FunctionError',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.no-answer'],
    run: (session) => forgotten(session, 'divide', [1, 0]),
  },
  {
    id: 'wasm.calls.forgotten-unknown',
    title: 'A call with expectsResponse: false of a function that is not there gets no FunctionError',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.no-answer'],
    run: (session) => forgotten(session, 'no such function', null),
  },
  {
    id: 'wasm.calls.forgotten-runs',
    title: 'A call with expectsResponse: false is carried out',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      const id = session.call('callHost', { name: 'heard', params: 'it ran' }, { expectsResponse: false });
      const call = await session.called('a FunctionCall of heard');
      expectValue(call['params'], 'it ran', 'its params');
      session.respond(call, null);
      await session.quiet(`no answer to ${id}`, (message) => isAnswer(message, id));
    },
  },
  {
    id: 'wasm.calls.pipelined',
    title: 'Calls that are sent before the first is answered are all answered, each with its own result',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.interleave', 'duplex-rpc.ids.links-call'],
    async run(session) {
      const first = session.call('add', [1, 2]);
      const second = session.call('divide', [1, 0]);
      const third = session.call('echo', 'third');
      expectValue(await session.result(third), 'third', 'the result of the third call');
      expectValue(await session.result(first), 3, 'the result of the first call');
      await session.error(second);
    },
  },
  {
    id: 'wasm.calls.extra-fields',
    title: 'Fields that the protocol does not know are ignored',
    level: 'RECOMMENDED',
    reason: 'a later version of a host may say more; who fails on it cannot be upgraded apart from it',
    group,
    cites: [],
    async run(session) {
      const call = session.call('add', [1, 2], { traceparent: '00-ab', deadline: { ms: 5 } });
      expectValue(await session.result(call), 3, 'the result');
    },
  },
];

async function forgotten(session: GuestSession, name: string, params: unknown): Promise<void> {
  const id = session.call(name, params, { expectsResponse: false });
  await session.quiet(`no answer to ${id}`, (message) => isAnswer(message, id));
}

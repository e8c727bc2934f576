import type { WireMap } from '../../wire/index.js';
import { type Check, NotApplicable } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue } from '../target/duplex-peer.js';
import { showWire } from '../target/frame-codec.js';
import type { GuestSession } from './session.js';

const group = 'Callbacks';

const callHost = (session: GuestSession, name: string, params: unknown): string =>
  session.call('callHost', { name, params });

/** Calls of the guest to the host. */
export const CALLBACK_CHECKS: readonly Check<GuestSession>[] = [
  {
    id: 'wasm.callbacks.message',
    title: 'A call to the host is a FunctionCall with an id, a name and params',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.same-types', 'duplex-rpc.call.fields', 'duplex-rpc.architecture.callbacks'],
    async run(session) {
      callHost(session, 'getProductDetails', { productId: 'p-42' });
      const call = await session.called();
      expectThat(typeof call['id'] === 'string' && call['id'] !== '', 'an id that is a text', showWire(call));
      expectValue(call['functionName'], 'getProductDetails', 'its functionName');
      expectValue(call['params'], { productId: 'p-42' }, 'its params');
    },
  },
  {
    id: 'wasm.callbacks.expects-response',
    title: 'A call to the host whose answer is waited for does not say expectsResponse: false',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      callHost(session, 'any', null);
      const { expectsResponse } = await session.called();
      expectThat(expectsResponse === undefined || expectsResponse === true, 'none, or true', showWire(expectsResponse));
    },
  },
  {
    id: 'wasm.callbacks.result',
    title: 'The result of the host reaches the function that asked for it',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.route', 'duplex-rpc.ids.links-call'],
    async run(session) {
      const id = callHost(session, 'getProductDetails', { productId: 'p-42' });
      const product = { name: 'Broccoli', price: 6.99, tags: ['green', null] };
      session.respond(await session.called(), product);
      expectValue(await session.result(id), product, 'the result');
    },
  },
  {
    id: 'wasm.callbacks.no-result',
    title: 'An answer of the host without a result ends the wait',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.response.result'],
    async run(session) {
      const id = callHost(session, 'nothing', null);
      session.respond(await session.called());
      const result = await session.result(id);
      expectThat(result === undefined || result === null, 'no result, or nil', showWire(result));
    },
  },
  {
    id: 'wasm.callbacks.error',
    title: 'A FunctionError of the host fails the call that asked',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.error.failed'],
    async run(session) {
      const id = callHost(session, 'denied', null);
      session.refuse(await session.called(), 'not today');
      await session.error(id);
    },
  },
  {
    id: 'wasm.callbacks.after-error',
    title: 'A FunctionError of the host does not harm the next call',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.error.failed'],
    async run(session) {
      callHost(session, 'denied', null);
      session.refuse(await session.called(), '');
      const id = callHost(session, 'allowed', null);
      session.respond(await session.called('a second FunctionCall of the guest'), 7);
      expectValue(await session.result(id), 7, 'the result of the next call');
    },
  },
  {
    id: 'wasm.callbacks.unique-ids',
    title: 'Calls to the host have ids that were never used before',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.lifetime', 'duplex-rpc.ids.session'],
    async run(session) {
      const seen = new Set<unknown>();
      for (let index = 0; index < 5; index += 1) {
        const id = callHost(session, 'next', index);
        const call = await session.called();
        expectThat(!seen.has(call['id']), `an id other than ${showWire([...seen])}`, showWire(call['id']));
        seen.add(call['id']);
        session.respond(call, index);
        expectValue(await session.result(id), index, 'the result');
      }
    },
  },
  {
    id: 'wasm.callbacks.each-its-own',
    title: 'Of calls that all wait for the host, each gets its own answer',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.route', 'duplex-rpc.ids.session'],
    async run(session) {
      const ids = ['a', 'b', 'c'].map((name) => callHost(session, name, name));
      for (const _ of ids) {
        const call = await session.called();
        session.respond(call, `for ${call['params']}`);
      }
      for (const [index, id] of ids.entries()) {
        expectValue(await session.result(id), `for ${'abc'[index]}`, `the result of call ${index + 1}`);
      }
    },
  },
  {
    id: 'wasm.callbacks.reversed',
    title: 'Answers of the host may come in another order than the questions',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.interleave', 'duplex-rpc.ids.route'],
    async run(session) {
      const ids = ['a', 'b'].map((name) => callHost(session, name, name));
      const calls = [await session.called(), await soon(session)];
      for (const call of calls.reverse()) session.respond(call, `for ${call['params']}`);
      expectValue(await session.result(ids[1] ?? ''), 'for b', 'the result of the second call');
      expectValue(await session.result(ids[0] ?? ''), 'for a', 'the result of the first call');
    },
  },
  {
    id: 'wasm.callbacks.any-name',
    title: 'A function of the host may have any name',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.name'],
    async run(session) {
      for (const name of ['cb_0', 'a.b/c', 'ünï', 'x'.repeat(100)]) {
        const id = callHost(session, name, null);
        const call = await session.called();
        expectValue(call['functionName'], name, 'its functionName');
        session.respond(call, null);
        await session.answer(id);
      }
    },
  },
  {
    id: 'wasm.callbacks.only-when-asked',
    title: 'Functions that need nothing of the host call nothing of it',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.failure.unauthorized'],
    async run(session) {
      await session.result(session.call('add', [1, 2]));
      await session.result(session.call('echo', { name: 'callHost' }));
      await session.quiet('no FunctionCall', (message) => message['type'] === 0);
    },
  },
];

/** The next call to the host of a guest that runs several functions at once. */
async function soon(session: GuestSession): Promise<WireMap> {
  await session.peer.quiet('time for a second FunctionCall', () => false);
  if (session.peer.unread.some(({ type }) => type === 0)) return session.called();
  throw new NotApplicable('the guest runs one function at a time');
}

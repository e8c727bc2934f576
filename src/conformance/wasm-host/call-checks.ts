import { type Check, NotApplicable } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue } from '../target/duplex-peer.js';
import { showWire } from '../target/frame-codec.js';
import type { HostSession } from './session.js';

const group = 'Calls';

const VALUES: Readonly<Record<string, readonly unknown[]>> = {
  scalars: [null, true, false, 0, -1, 127, 128, 65_536, 2 ** 40, 0.1, -1.5, 1e300],
  text: ['', 'é😀', 'a'.repeat(32), 'b'.repeat(256), 'c'.repeat(70_000)],
  lists: [[], [1, [2, [3]]], Array(20).fill('x'), { list: [{ a: [] }] }],
  objects: [{}, { a: { b: { c: null } } }, JSON.parse('{"__proto__":1,"constructor":2,"":3,"id":4,"type":9}')],
};

/** Calls of the host, and what it makes of the answers. */
export const CALL_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'wasm-host.calls.message',
    title: 'A call names the function and has its params',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.host-requests', 'duplex-rpc.call.name', 'duplex-rpc.call.fields'],
    async run(session) {
      const { call } = await session.begin('add', [1, 2]);
      expectValue(call['functionName'], 'add', 'its functionName');
      expectValue(call['params'], [1, 2], 'its params');
    },
  },
  {
    id: 'wasm-host.calls.result',
    title: 'A FunctionResponse ends the call with its result',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.response.id', 'duplex-rpc.response.result', 'duplex-rpc.ids.links-call'],
    async run(session) {
      const { id, guest, call } = await session.begin('add', [1, 2]);
      guest.respond(call, 3);
      expectValue(await session.value(id), 3, 'the result');
    },
  },
  {
    id: 'wasm-host.calls.no-result',
    title: 'A FunctionResponse without a result ends the call',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.response.result'],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.respond(call);
      const result = await session.value(id);
      expectThat(result === undefined || result === null, 'no result', result);
    },
  },
  {
    id: 'wasm-host.calls.error',
    title: 'A FunctionError fails the call with its text',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.error.failed', 'duplex-rpc.error.text', 'duplex-rpc.architecture.answers'],
    async run(session) {
      const { id, guest, call } = await session.begin('divide', [1, 0]);
      guest.refuse(call, 'Division by zero');
      const error = await session.failed(id);
      expectThat(error.includes('Division by zero'), 'a text with “Division by zero”', error);
    },
  },
  {
    id: 'wasm-host.calls.error-keeps-guest',
    title: 'A FunctionError does not end the guest',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.error.failed'],
    async run(session) {
      const { id, guest, call } = await session.begin('divide', [1, 0]);
      guest.refuse(call, 'Division by zero');
      await session.failed(id);
      const next = session.start('add', [1, 2]);
      guest.respond(await guest.called('the next call, to the same guest'), 3);
      expectValue(await session.value(next), 3, 'the result of the next call');
    },
  },
  {
    id: 'wasm-host.calls.expects-response',
    title: 'A call whose result is waited for does not say expectsResponse: false',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      const { expectsResponse } = (await session.begin()).call;
      expectThat(expectsResponse === undefined || expectsResponse === true, 'none, or true', showWire(expectsResponse));
    },
  },
  {
    id: 'wasm-host.calls.no-params',
    title: 'A call without parameters has none, or nil',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.fields'],
    async run(session) {
      const { params } = (await session.begin('work')).call;
      expectThat(params === undefined || params === null, 'no params, or nil', showWire(params));
    },
  },
  {
    id: 'wasm-host.calls.unique-ids',
    title: 'Every call has an id of its own, a text that was never used before',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.string', 'duplex-rpc.ids.lifetime', 'duplex-rpc.ids.session'],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.respond(call);
      await session.value(id);
      const seen = [call['id']];
      for (let round = 0; round < 3; round += 1) {
        const ids = [session.start('work'), session.start('work')];
        for (const _ of ids) {
          const one = await guest.called();
          seen.push(one['id']);
          guest.respond(one);
        }
        for (const one of ids) await session.value(one);
      }
      expectThat(
        seen.every((one) => typeof one === 'string'),
        'ids that are texts',
        showWire(seen),
      );
      expectThat(new Set(seen).size === seen.length, 'ids that differ', showWire(seen));
    },
  },
  {
    id: 'wasm-host.calls.interleave',
    title: 'Answers may come in another order than the calls',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.interleave', 'duplex-rpc.ids.route'],
    async run(session) {
      const begun = await session.begin('echo', 'first');
      const { id, guest, call } = begun;
      const second = session.start('echo', 'second');
      const other = await session.alongside(begun);
      guest.respond(other, other['params']);
      expectValue(await session.value(second), 'second', 'the result of the second call');
      guest.respond(call, call['params']);
      expectValue(await session.value(id), 'first', 'the result of the first call');
    },
  },
  {
    id: 'wasm-host.calls.many',
    title: 'A hundred calls at once each get their own answer',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.interleave', 'duplex-rpc.ids.route'],
    async run(session) {
      const begun = await session.begin('echo', 0);
      const { id, guest, call } = begun;
      const ids = [id, ...Array.from({ length: 99 }, (_, index) => session.start('echo', index + 1))];
      let waiting = [call, await session.alongside(begun)];
      for (let left = ids.length; left > 0; left -= waiting.length) {
        // A host may let only so many wait at once; then the others come when these are answered.
        if (left < ids.length) waiting = [await guest.called()];
        while (waiting.length < left) {
          const further = await session.soon(guest);
          if (further === undefined) break;
          waiting.push(further);
        }
        for (const one of waiting.reverse()) guest.respond(one, one['params']);
      }
      for (const [index, one] of ids.entries())
        expectValue(await session.value(one), index, `the result of call ${index}`);
    },
  },
  {
    id: 'wasm-host.calls.forgotten',
    title: 'A call that needs no answer says expectsResponse: false, and does not wait',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      const id = session.start('logEvent', { event: 'started' }, { notify: true });
      const outcome = await session.outcome(id);
      expectValue(outcome['ok'], true, 'the outcome');
      const call = await (await session.guest()).called();
      expectValue(call['expectsResponse'], false, 'expectsResponse');
    },
  },
  ...Object.entries(VALUES).map(
    ([kind, values]): Check<HostSession> => ({
      id: `wasm-host.calls.any-${kind}`,
      title: `Params and results may be any JSON value: ${kind}`,
      level: 'MUST',
      group,
      cites: ['duplex-rpc.examples.any-json'],
      async run(session) {
        const { id, guest, call } = await session.begin('echo', values);
        expectValue(call['params'], values, 'the params');
        guest.respond(call, values);
        expectValue(await session.value(id), values, 'the result');
      },
    }),
  ),
  {
    id: 'wasm-host.calls.one-guest',
    title: 'The calls of one client reach one guest',
    level: 'RECOMMENDED',
    reason: 'a guest may keep state between calls; ids and streams belong to a session',
    group,
    cites: [],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.respond(call, 1);
      await session.value(id);
      const next = session.start('work');
      const expected = 'the next call, to the same guest';
      guest.respond(await guest.called(expected), 2);
      expectValue(await session.value(next), 2, 'the result of the next call');
      if (guest.peer.ending !== undefined) throw new NotApplicable('the guest was ended between calls');
    },
  },
];

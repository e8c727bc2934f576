import type { Check, CheckFacts } from '../check.js';
import { expectValue } from '../target/duplex-peer.js';
import { type Begun, callback, type HostSession, receiving } from './session.js';
import { VIOLATIONS, type Violation } from './violations.js';

const group = 'Failures';
const TERMINATE = 'duplex-rpc.failure.terminate';

/** Short enough for a person to wait, long enough for a slow machine to send a call. */
const CALL_TIMEOUT_MS = 1_500;

/** Expects the call to fail and the process to be gone. */
async function expectEnded(session: HostSession, { id, guest }: Pick<Begun, 'id' | 'guest'>): Promise<void> {
  await session.failed(id);
  await guest.terminated();
}

function levelOf({
  cites,
  reason,
}: Violation): Pick<CheckFacts, 'cites'> & ({ level: 'SHOULD' } | { level: 'RECOMMENDED'; reason: string }) {
  return reason === undefined
    ? { level: 'SHOULD', cites: [...cites, TERMINATE] }
    : { level: 'RECOMMENDED', reason, cites };
}

/** Everything for which a host ends a guest, and what it does afterwards. */
export const FAILURE_CHECKS: readonly Check<HostSession>[] = [
  ...VIOLATIONS.map(
    (violation): Check<HostSession> => ({
      id: `wasm-host.failures.${violation.name}`,
      title: `A guest is ended, and its call fails, for ${violation.title}`,
      group,
      ...levelOf(violation),
      async run(session) {
        const begun = await session.begin();
        begun.guest.peer.sendRaw(violation.bytes(begun.call));
        await expectEnded(session, begun);
      },
    }),
  ),
  {
    id: 'wasm-host.failures.chunk-missing',
    title: 'A guest is ended for a StreamChunk without a chunk',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.schema', TERMINATE],
    async run(session) {
      const begun = await session.begin('work', { items: receiving('items') });
      begun.guest.peer.send({ type: 3, id: Object(begun.call['params'])['items'] });
      await expectEnded(session, begun);
    },
  },
  {
    id: 'wasm-host.failures.second-answer',
    title: 'A guest is ended for answering a call twice',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.unknown-id', TERMINATE],
    async run(session) {
      const { id, guest, call } = await session.begin();
      guest.respond(call, 1);
      expectValue(await session.value(id), 1, 'the result');
      guest.respond(call, 2);
      await guest.terminated();
    },
  },
  {
    id: 'wasm-host.failures.chunk-after-end',
    title: 'A guest is ended for a chunk after the end of its stream',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.unknown-id', TERMINATE],
    async run(session) {
      const { guest, call } = await session.begin('work', { items: receiving('items') });
      const stream = String(Object(call['params'])['items']);
      guest.endStream(stream);
      guest.chunks(stream, ['late']);
      await guest.terminated();
    },
  },
  {
    id: 'wasm-host.failures.answer-to-forgotten',
    title: 'A guest is ended for answering a call with expectsResponse: false',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.unknown-id', 'duplex-rpc.examples.no-answer', TERMINATE],
    async run(session) {
      await session.outcome(session.start('logEvent', null, { notify: true }));
      const guest = await session.guest();
      guest.respond(await guest.called(), 1);
      await guest.terminated();
    },
  },
  {
    id: 'wasm-host.failures.timeout',
    title: 'A call that takes too long fails, and its guest is ended',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.timeout', TERMINATE],
    async run(session) {
      await expectEnded(session, await session.begin('work', null, { timeoutMs: CALL_TIMEOUT_MS }));
    },
  },
  {
    id: 'wasm-host.failures.exit',
    title: 'The calls of a guest that exits fail',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.exit', TERMINATE],
    async run(session) {
      const { id, guest } = await session.begin();
      guest.exit(3);
      await session.failed(id);
    },
  },
  {
    id: 'wasm-host.failures.exit-in-frame',
    title: 'The calls of a guest that exits in the middle of a frame fail',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.exit', 'duplex-rpc.failure.decode'],
    async run(session) {
      const { id, guest } = await session.begin();
      guest.peer.sendRaw(Buffer.from('010000001000', 'hex'));
      guest.exit(0);
      await session.failed(id);
    },
  },
  {
    id: 'wasm-host.failures.all-calls',
    title: 'Every call that waits fails with the guest',
    level: 'SHOULD',
    group,
    cites: [TERMINATE],
    async run(session) {
      const begun = await session.begin();
      const { id, guest } = begun;
      const others = [session.start('work'), session.start('work')];
      // One that has not come yet waits as well.
      await session.alongside(begun);
      guest.exit(1);
      for (const one of [id, ...others]) await session.failed(one);
    },
  },
  {
    id: 'wasm-host.failures.open-stream',
    title: 'A stream that is open fails with the guest, also when its call has returned',
    level: 'SHOULD',
    group,
    cites: [TERMINATE, 'duplex-rpc.failure.exit'],
    async run(session) {
      const { id, guest, call } = await session.begin('work', { items: receiving('items') });
      guest.chunks(String(Object(call['params'])['items']), [1]);
      guest.respond(call);
      // Another answered call shows that the host has heard all of it.
      const next = session.start('work');
      guest.respond(await guest.called());
      await session.value(next);
      guest.exit(1);
      const { chunks, error } = await session.received(id, 'items');
      expectValue(chunks, [1], 'the chunks');
      expectValue(typeof error, 'string', 'the type of the error');
    },
  },
  ...(
    [
      ['violation', 'a violation', (begun: Begun) => begun.guest.peer.sendRaw(Buffer.from('garbage'))],
      ['exit', 'an exit', (begun: Begun) => begun.guest.exit(1)],
      ['not-granted', 'a call that was not granted', (begun: Begun) => void begun.guest.call('readFile', 'x')],
    ] as const
  ).map(
    ([name, title, breakRules]): Check<HostSession> => ({
      id: `wasm-host.failures.fresh-after-${name}`,
      title: `After ${title} the next call gets a fresh guest`,
      level: 'SHOULD',
      group,
      cites: ['duplex-rpc.failure.fresh'],
      async run(session) {
        const begun = await session.begin();
        breakRules(begun);
        await session.failed(begun.id);
        await expectFresh(session);
      },
    }),
  ),
  {
    id: 'wasm-host.failures.fresh-after-timeout',
    title: 'After a timeout the next call gets a fresh guest',
    level: 'SHOULD',
    group,
    cites: ['duplex-rpc.failure.fresh', 'duplex-rpc.failure.timeout'],
    async run(session) {
      await session.failed((await session.begin('work', null, { timeoutMs: CALL_TIMEOUT_MS })).id);
      await expectFresh(session);
    },
  },
  {
    id: 'wasm-host.failures.not-repeated',
    title: 'A call that failed with its guest is not made again by itself',
    level: 'RECOMMENDED',
    reason: 'the host cannot know what the guest had done already',
    group,
    cites: [],
    async run(session) {
      const { id, guest } = await session.begin('work', 'once');
      guest.exit(1);
      await session.failed(id);
      const next = session.start('work', 'next');
      const fresh = await session.guest('a fresh guest');
      const call = await fresh.called();
      expectValue(call['params'], 'next', 'the params of its first call');
      fresh.respond(call, 1);
      await session.value(next);
    },
  },
  {
    id: 'wasm-host.failures.expired-callback',
    title: 'A function that came with a call does not run after that call has ended',
    level: 'RECOMMENDED',
    reason: 'what a call was allowed to do must not be done for ever; a named grant of the session may still run',
    group,
    cites: [],
    async run(session) {
      const { id, guest, call } = await session.begin('work', { echo: callback('echo') });
      const name = String(Object(call['params'])['echo']);
      guest.respond(call, 1);
      await session.value(id);
      const late = guest.call(name, 'late');
      const answer = await guest.answerOrEnd(late);
      if (name !== 'echo' && answer !== undefined) expectValue(answer['type'], 2, 'the type of the answer');
    },
  },
];

async function expectFresh(session: HostSession): Promise<void> {
  const id = session.start('add', [1, 2]);
  const guest = await session.guest('a fresh guest');
  guest.respond(await guest.called(), 3);
  expectValue(await session.value(id), 3, 'the result of the next call');
}

import type { Check } from '../check.js';
import { expectThat } from '../expect.js';
import { expectValue, isAnswer } from '../target/duplex-peer.js';
import { showWire } from '../target/frame-codec.js';
import { type Begun, callback, type HostSession } from './session.js';

const group = 'Callbacks';

type Granted = Parameters<typeof callback>[0];

/** Begins a call that carries functions of the host, and gives the names under which the guest finds them. */
async function granted<Name extends Granted>(session: HostSession, ...names: Name[]) {
  const begun = await session.begin('work', Object.fromEntries(names.map((name) => [name, callback(name)])));
  const found = Object(begun.call['params']);
  for (const name of names) expectThat(typeof found[name] === 'string', `the name of ${name}`, showWire(found));
  const nameOf = (name: Name): string => String(found[name]);
  return { ...begun, nameOf };
}

/** Answers the call that carried the functions, so that a broken session shows. */
async function finish(session: HostSession, { id, guest, call }: Begun): Promise<void> {
  guest.respond(call, 'done');
  expectValue(await session.value(id), 'done', 'the result of the call');
}

/** Calls of the guest to the host. */
export const CALLBACK_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'wasm-host.callbacks.result',
    title: 'A function of the host is called with the params of the guest and answered with a FunctionResponse',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.architecture.callbacks', 'duplex-rpc.examples.same-types', 'duplex-rpc.response.id'],
    async run(session) {
      const begun = await granted(session, 'echo');
      const value = { productId: 'p-42', list: [1, null, 'é'] };
      const id = begun.guest.call(begun.nameOf('echo'), value);
      expectValue(await begun.guest.result(id), value, 'the result');
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.no-result',
    title: 'A function that returns nothing is answered without a result, or with nil',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.response.result'],
    async run(session) {
      const begun = await granted(session, 'nothing');
      const result = await begun.guest.result(begun.guest.call(begun.nameOf('nothing')));
      expectThat(result === undefined || result === null, 'no result, or nil', showWire(result));
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.error',
    title: 'A function that fails is answered with a FunctionError that has a text',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.error.failed', 'duplex-rpc.error.text'],
    async run(session) {
      const begun = await granted(session, 'fail');
      await begun.guest.error(begun.guest.call(begun.nameOf('fail'), 1));
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.one-answer',
    title: 'A call of the guest is answered exactly once',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.links-call'],
    async run(session) {
      const begun = await granted(session, 'echo', 'fail');
      const ids = [begun.guest.call(begun.nameOf('echo'), 1), begun.guest.call(begun.nameOf('fail'), 1)];
      for (const id of ids) await begun.guest.answer(id);
      await begun.guest.result(begun.guest.call(begun.nameOf('echo'), 2));
      await begun.guest.peer.quiet('no second answer', (message) => ids.some((id) => isAnswer(message, id)));
    },
  },
  {
    id: 'wasm-host.callbacks.any-id',
    title: 'The id that the guest chose comes back as it was',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.string', 'duplex-rpc.response.id'],
    async run(session) {
      const begun = await granted(session, 'echo');
      // Ids are unique within a session: that of the call which waits is taken.
      const ids = ['0', '007', 'a b', 'é😀', '__proto__', 'x'.repeat(200)].filter((id) => id !== begun.call['id']);
      for (const id of ids) {
        begun.guest.call(begun.nameOf('echo'), id, { id });
        expectValue(await begun.guest.result(id), id, 'the result');
      }
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.same-id-as-call',
    title: 'The guest may choose an id that the host uses for a call of its own',
    level: 'RECOMMENDED',
    reason:
      'ids are to be unique within a session, but neither side knows those of the other; one table for both loses a call',
    group,
    cites: ['duplex-rpc.ids.route'],
    async run(session) {
      const begun = await granted(session, 'echo');
      const id = String(begun.call['id']);
      begun.guest.call(begun.nameOf('echo'), 'theirs', { id });
      expectValue(await begun.guest.result(id), 'theirs', 'the result');
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.many',
    title: 'Many calls of the guest at once are all answered',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.ids.interleave', 'duplex-rpc.ids.route'],
    async run(session) {
      const begun = await granted(session, 'echo');
      const ids = Array.from({ length: 50 }, (_, index) => begun.guest.call(begun.nameOf('echo'), index));
      for (const [index, id] of ids.entries()) expectValue(await begun.guest.result(id), index, `the result of ${id}`);
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.forgotten-runs',
    title: 'A call of the guest with expectsResponse: false is carried out',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      const begun = await granted(session, 'note', 'notes');
      begun.guest.call(begun.nameOf('note'), 'it ran', { expectsResponse: false });
      expectValue(await begun.guest.result(begun.guest.call(begun.nameOf('notes'))), ['it ran'], 'what was noted');
      await finish(session, begun);
    },
  },
  {
    id: 'wasm-host.callbacks.forgotten-result',
    title: 'A call of the guest with expectsResponse: false gets no FunctionResponse',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.no-answer'],
    run: (session) => forgotten(session, 'echo'),
  },
  {
    id: 'wasm-host.callbacks.forgotten-error',
    title: 'A call of the guest with expectsResponse: false that fails gets no FunctionError',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.examples.no-answer'],
    run: (session) => forgotten(session, 'fail'),
  },
  {
    id: 'wasm-host.callbacks.expects-response-true',
    title: 'A call of the guest with expectsResponse: true is answered',
    level: 'MUST',
    group,
    cites: ['duplex-rpc.call.expects-response'],
    async run(session) {
      const begun = await granted(session, 'echo');
      const id = begun.guest.call(begun.nameOf('echo'), 1, { expectsResponse: true });
      expectValue(await begun.guest.result(id), 1, 'the result');
    },
  },
  ...['readFile', '__proto__', 'constructor', 'toString', ''].map(
    (name, index): Check<HostSession> => ({
      id: `wasm-host.callbacks.refused-${['unknown', 'proto', 'constructor', 'to-string', 'empty'][index]}`,
      title: `A function that was not granted is not carried out: ${JSON.stringify(name)}`,
      level: 'MUST',
      group,
      cites: [
        'duplex-rpc.examples.validate',
        'duplex-rpc.examples.allowed',
        'duplex-rpc.rationale.capabilities',
        'duplex-rpc.rationale.strict',
      ],
      async run(session) {
        const begun = await granted(session, 'echo');
        const id = begun.guest.call(name, '/etc/passwd');
        const seen = begun.guest.call(begun.nameOf('echo'), 'still there?');
        // A host that ends the guest for it does not answer any more; one that goes on answers this.
        const answer = await begun.guest.answerOrEnd(seen);
        if (answer !== undefined) expectValue(answer['result'], 'still there?', 'the result of the next call');
        await begun.guest.peer.quietOrEnd(
          'no FunctionResponse',
          (message) => isAnswer(message, id) && message['type'] === 1,
        );
        const { ending } = session.driver;
        expectThat(ending === undefined, 'the host to live on', ending?.text);
      },
    }),
  ),
];

async function forgotten(session: HostSession, name: 'echo' | 'fail'): Promise<void> {
  const begun = await granted(session, name, 'notes');
  const id = begun.guest.call(begun.nameOf(name), 1, { expectsResponse: false });
  await begun.guest.result(begun.guest.call(begun.nameOf('notes')));
  await begun.guest.peer.quiet(`no answer to ${id}`, (message) => isAnswer(message, id));
  await finish(session, begun);
}

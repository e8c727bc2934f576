import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { failureOf } from './result-checks.js';
import { type HostSession, ofHost } from './session.js';

const group = 'Cancellation';

/** Short enough to wait for. */
const SHORT = { options: { timeoutMs: 200 } };

/** Long enough for a call to arrive first, on a slow machine too. */
const CALLABLE_MS = 700;

/** How a host ends what does not end by itself. */
export const ENDING_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'host.cancel.on-abort',
    title: 'An abort of the caller sends cancel with the id of the session',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.failure.cancel', 'execbox-protocol.cancel.when', 'execbox-protocol.cancel.id'],
    async run(session) {
      const id = await session.begin();
      session.abort();
      expectEqual((await session.message('cancel'))['id'], id, 'the id of the cancel');
    },
  },
  {
    id: 'host.cancel.on-timeout',
    title: 'A runner that does not end in time is sent cancel',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.failure.cancel', 'execbox-protocol.cancel.when'],
    async run(session) {
      const id = await session.begin(SHORT);
      expectEqual((await session.message('cancel'))['id'], id, 'the id of the cancel');
    },
  },
  {
    id: 'host.cancel.aborts-tools',
    title: 'An abort fires the signal of the tools that run, before the runner has answered',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.failure.abort-tools'],
    async run(session) {
      await session.begin();
      session.call('hang');
      await session.noticed('called', 'hang');
      session.abort();
      await session.noticed('aborted', 'hang');
    },
  },
  {
    id: 'host.cancel.timeout-aborts-tools',
    title: 'A timeout fires the signal of the tools that run',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.failure.abort-tools', 'execbox-protocol.failure.cancel'],
    async run(session) {
      await session.begin({ options: { timeoutMs: CALLABLE_MS } });
      session.call('hang');
      await session.noticed('called', 'hang');
      await session.noticed('aborted', 'hang');
    },
  },
  {
    id: 'host.cancel.abort-fails',
    title: 'An aborted execution is a failure for the caller, of the code timeout',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.cancel.timeout-shaped'],
    async run(session) {
      const id = await session.begin();
      session.abort();
      await session.message('cancel');
      session.done(id, { ok: false, error: { code: 'timeout', message: 'Execution timed out' } });
      expectEqual(failureOf(await session.result())['code'], 'timeout', 'the code');
    },
  },
  {
    id: 'host.cancel.silent-runner',
    title: 'A runner that answers nothing leaves the caller with a timeout all the same',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.failure.grace', 'execbox-protocol.failure.classification'],
    async run(session) {
      await session.begin(SHORT);
      await session.message('cancel');
      expectEqual(failureOf(await session.result())['code'], 'timeout', 'the code');
    },
  },
  {
    id: 'host.cancel.late-success',
    title: 'A success that comes after the cancel is none',
    level: 'SHOULD',
    group,
    cites: ['execbox-protocol.failure.classification', 'execbox-runner.cancel.timeout-shaped'],
    async run(session) {
      const id = await session.begin();
      session.abort();
      await session.message('cancel');
      session.done(id, { ok: true, result: 'too late' });
      failureOf(await session.result());
    },
  },
  {
    id: 'host.cancel.once',
    title: 'A session is cancelled once',
    level: 'RECOMMENDED',
    reason: 'the text has one cancel for one session; a runner need not tell the second from one for a next execution',
    group,
    cites: [],
    async run(session) {
      await session.begin();
      session.abort();
      await session.message('cancel');
      session.abort();
      await session.peer.quiet('no second cancel', (line) => ofHost(line, 'cancel'));
    },
  },
  {
    id: 'host.cancel.not-after-done',
    title: 'An abort after done sends nothing',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.correlation.done', 'execbox-runner.state.complete'],
    async run(session) {
      session.done(await session.begin());
      await session.result();
      session.abort();
      await session.peer.quiet('no cancel', (line) => ofHost(line, 'cancel'));
    },
  },
  {
    id: 'host.close.fails',
    title: 'A transport that closes before done fails the execution',
    level: 'MUST',
    group: 'Transport',
    cites: ['execbox-protocol.failure.close', 'execbox-runner.cancel.close', 'execbox-runner.mapping.unknown'],
    async run(session) {
      await session.begin();
      session.close();
      const { code } = failureOf(await session.result());
      expectThat(code !== 'timeout' && code !== 'memory_limit', 'a code that does not blame the program', code);
    },
  },
  {
    id: 'host.close.while-calling',
    title: 'A transport that closes while a tool runs fails the execution, and fires the signal of the tool',
    level: 'RECOMMENDED',
    reason: 'nobody waits for the result of the tool any more',
    group: 'Transport',
    cites: ['execbox-protocol.failure.close'],
    async run(session) {
      await session.begin();
      session.call('hang');
      await session.noticed('called', 'hang');
      session.close();
      await session.noticed('aborted', 'hang');
      failureOf(await session.result());
    },
  },
  {
    id: 'host.close.after-done',
    title: 'A transport that closes right behind done changes nothing',
    level: 'MUST',
    group: 'Transport',
    cites: ['execbox-protocol.correlation.done', 'execbox-protocol.lifecycle.done'],
    async run(session) {
      session.done(await session.begin(), { ok: true, result: 'whole' });
      session.close();
      expectEqual((await session.result())['result'], 'whole', 'the result');
    },
  },
  {
    id: 'host.close.before-started',
    title: 'A transport that closes before started fails the execution',
    level: 'MUST',
    group: 'Transport',
    cites: ['execbox-protocol.failure.close'],
    async run(session) {
      session.give();
      await session.message('execute');
      session.close();
      failureOf(await session.result());
    },
  },
];

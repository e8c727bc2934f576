import { isDeepStrictEqual } from 'node:util';
import type { Check } from '../check.js';
import type { CheckContext } from '../context.js';
import { expectEqual, expectThat } from '../expect.js';
import { type Execution, errorOf, type RunnerSession, resultOf } from './session.js';

const group = 'Cancellation';

/** A limit twice as long as that of the check: a run that ends within the check did not end by its own timeout. */
function long({ deadline }: CheckContext): Execution {
  return { options: { timeoutMs: 2 * deadline.limitMs } };
}

/**
 * How many times a program may try to unwind. A runner may cut off by a short clock what does not, and on a crowded machine that
 * is no mistake of its: whoever rejects the calls that wait gets there once.
 */
const UNWIND_TRIES = 10;

const UNWOUND = ['unwound'];

/** Cancels a program that waits for a call and says when it is rejected. Gives its logs. */
async function logsOfUnwinding(session: RunnerSession, context: CheckContext): Promise<unknown> {
  const id = session.execute("try { await tools.echo(1) } catch { console.log('unwound') }", long(context));
  await session.call();
  session.cancel(id);
  return (await session.done(id))['logs'];
}

/** What a runner does when its host asks it to stop. */
export const CANCEL_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.cancel.while-waiting',
    title: 'A cancel ends a run that waits for a tool',
    level: 'MUST',
    group,
    cites: ['execbox-runner.cancel.aborts', 'execbox-runner.cancel.while-waiting', 'execbox-protocol.cancel.id'],
    async run(session, context) {
      const id = session.execute('await tools.echo(1)', long(context));
      await session.call();
      session.cancel(id);
      errorOf(await session.done(id));
    },
  },
  {
    id: 'runner.cancel.while-busy',
    title: 'A cancel ends a run that never yields',
    level: 'MUST',
    group,
    cites: ['execbox-runner.cancel.aborts', 'execbox-runner.cancel.before-call', 'execbox-protocol.failure.request'],
    async run(session, context) {
      const id = session.execute('for (;;) {}', long(context));
      await session.peer.quiet('no done of a program that does not end', ({ type }) => type === 'done');
      session.cancel(id);
      errorOf(await session.done(id));
    },
  },
  {
    id: 'runner.cancel.at-once',
    title: 'A cancel right behind the execute ends the run',
    level: 'MUST',
    group,
    cites: ['execbox-runner.cancel.before-call', 'execbox-runner.cancel.aborts'],
    async run(session, context) {
      const id = session.execute('await tools.echo(1)', long(context));
      session.cancel(id);
      errorOf(await session.done(id));
    },
  },
  {
    id: 'runner.cancel.timeout-shaped',
    title: 'A cancelled run fails with the code timeout',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.cancel.timeout-shaped', 'execbox-runner.mapping.timeout'],
    async run(session, context) {
      const id = session.execute('await tools.echo(1)', long(context));
      await session.call();
      session.cancel(id);
      expectEqual(errorOf(await session.done(id)).code, 'timeout', 'the error code');
    },
  },
  {
    id: 'runner.cancel.pending-rejects',
    title: 'A cancel rejects the calls that wait, so that the program can unwind',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.cancel.rejects'],
    async run(session, context) {
      const { deadline } = context;
      let logs = await logsOfUnwinding(session, context);
      for (let more = 1; more < UNWIND_TRIES && deadline.remainingMs > deadline.limitMs / 2; more += 1) {
        if (isDeepStrictEqual(logs, UNWOUND)) return;
        logs = await logsOfUnwinding(await session.again(), context);
      }
      expectEqual(logs, UNWOUND, 'the logs');
    },
  },
  {
    id: 'runner.cancel.latched',
    title: 'A program that catches the rejection and returns does not turn a cancel into a success',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.cancel.timeout-shaped'],
    async run(session, context) {
      const id = session.execute("try { await tools.echo(1) } catch {}\n'as if nothing happened'", long(context));
      await session.call();
      session.cancel(id);
      const done = await session.done(id);
      expectThat(done['ok'] === false, 'a failure', done);
    },
  },
  {
    id: 'runner.cancel.other-id',
    title: 'A cancel for another id stops nothing',
    level: 'MUST',
    group,
    cites: ['execbox-runner.cancel.aborts', 'execbox-protocol.cancel.id'],
    async run(session, context) {
      const id = session.execute('await tools.echo(1)', long(context));
      const call = await session.call();
      session.cancel('somebody-else');
      await session.peer.quiet('no done', ({ type }) => type === 'done');
      session.answer(call, { ok: true, result: 'still here' });
      expectEqual(resultOf(await session.done(id)), 'still here', 'the result');
    },
  },
  {
    id: 'runner.cancel.after-done',
    title: 'A cancel that comes too late is not answered',
    level: 'MUST',
    group,
    cites: ['execbox-runner.state.complete', 'execbox-runner.state.one-done'],
    async run(session) {
      const id = session.execute('1');
      await session.done(id);
      session.cancel(id);
      await session.peer.quiet('nothing after done', ({ type }) => type !== 'started');
    },
  },
];

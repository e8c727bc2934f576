import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { errorOf, type RunnerSession, resultOf } from './session.js';

const group = 'Results';

/** How long the tool of the duration check takes, and what a clock may be off. */
const TOOL_MS = 120;
const CLOCK_MS = 20;

/** What `done` says. */
export const RESULT_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.result.success-shape',
    title: 'A success has a result and no error, and logs that are a list of strings',
    level: 'MUST',
    group,
    cites: ['execbox-runner.result.exactly-one', 'execbox-runner.result.logs', 'execbox-protocol.done.shape'],
    async run(session) {
      const done = await session.run('7');
      expectEqual(resultOf(done), 7, 'the result');
      expectThat(done['error'] === undefined, 'no error in a success', done);
      expectEqual(done['logs'], [], 'the logs of a run that logs nothing');
    },
  },
  {
    id: 'runner.result.failure-shape',
    title: 'A failure has an error with code and message, and no result',
    level: 'MUST',
    group,
    cites: ['execbox-runner.result.exactly-one', 'execbox-runner.json.explicit-error', 'execbox-protocol.done.shape'],
    async run(session) {
      const done = await session.run("throw new Error('x')");
      const { code, message } = errorOf(done);
      expectThat(typeof code === 'string' && typeof message === 'string', 'a code and a message', done);
      expectThat(done['result'] === undefined, 'no result in a failure', done);
    },
  },
  {
    id: 'runner.result.duration',
    title: 'durationMs is the time that the run took, the waiting for tools included',
    level: 'MUST',
    group,
    cites: ['execbox-runner.result.duration', 'execbox-protocol.started.when'],
    async run(session) {
      const began = performance.now();
      const id = session.execute('await tools.echo(1)');
      const call = await session.call();
      await session.peer.quiet('nothing while the tool works', ({ type }) => type === 'done', TOOL_MS);
      session.answer(call);
      const { durationMs } = await session.done(id);
      const longest = performance.now() - began;
      expectThat(
        typeof durationMs === 'number' && durationMs >= TOOL_MS - CLOCK_MS && durationMs <= longest + CLOCK_MS,
        `a number from ${TOOL_MS - CLOCK_MS} to ${Math.ceil(longest + CLOCK_MS)}`,
        durationMs,
      );
    },
  },
];

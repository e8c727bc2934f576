import type { Check } from '../check.js';
import { expectEqual } from '../expect.js';
import { type RunnerSession, resultOf } from './session.js';

const group = 'Session';

/** How a session begins and ends. */
export const SESSION_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.session.done-with-id',
    title: 'A run ends with done, which carries the id of the execute and the value of the program',
    level: 'MUST',
    group,
    cites: ['execbox-runner.session.one-done', 'execbox-runner.result.id'],
    async run(session) {
      const id = session.execute('1 + 1', { id: 'an id of the host' });
      expectEqual(resultOf(await session.done(id)), 2, 'the result');
    },
  },
  {
    id: 'runner.session.one-done',
    title: 'A run ends with exactly one done, and nothing follows it',
    level: 'MUST',
    group,
    cites: ['execbox-runner.session.one-done'],
    async run(session) {
      await session.done(session.execute('1 + 1'));
      await session.peer.quiet('nothing after done', ({ type }) => type !== 'started');
    },
  },
  {
    id: 'runner.session.started-first',
    title: 'started comes once, before any tool_call or done',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.session.started'],
    async run(session) {
      session.execute('await tools.echo(1)');
      const first = await session.peer.next('started as the first message', (message) => message);
      expectEqual(first['type'], 'started', 'the type of the first message');
      session.answer(await session.call(), { ok: true });
      await session.peer.quiet('no second started', ({ type }) => type === 'started');
    },
  },
];

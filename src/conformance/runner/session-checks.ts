import { type Check, NotApplicable } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { errorOf, type RunnerSession, resultOf } from './session.js';

const group = 'Session';

/** How a session begins, what belongs to it, and how it ends. */
export const SESSION_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.session.done-with-id',
    title: 'A run ends with done, which carries the id of the execute, whatever characters that has',
    level: 'MUST',
    group,
    cites: ['execbox-runner.result.id', 'execbox-runner.input.id', 'execbox-protocol.execute.id'],
    async run(session) {
      const id = session.execute('1 + 1', { id: 'exec 1/"ü"' });
      expectEqual(resultOf(await session.done(id)), 2, 'the result');
    },
  },
  {
    id: 'runner.session.one-done',
    title: 'A run ends with exactly one done, and nothing follows it',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.state.one-done',
      'execbox-runner.state.complete',
      'execbox-runner.result.one-done',
      'execbox-protocol.lifecycle.done',
      'execbox-protocol.correlation.done',
    ],
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
    cites: ['execbox-runner.state.started', 'execbox-protocol.started.when'],
    async run(session) {
      const id = session.execute('await tools.echo(1)');
      const first = await session.peer.next('started as the first message', (message) => message);
      expectEqual(first['type'], 'started', 'the type of the first message');
      session.answer(await session.call());
      await session.done(id);
      await session.peer.quiet('no second started', ({ type }) => type === 'started');
    },
  },
  {
    id: 'runner.session.started-id',
    title: 'started carries the id of the execution',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.started.id'],
    async run(session) {
      const id = session.execute('1', { id: 'other-7' });
      const first = await session.peer.next('started or done', (message) => message);
      expectEqual(first['id'], id, `the id of ${first['type']}`);
    },
  },
  {
    id: 'runner.session.whole-program',
    title: 'The code is a whole program: statements, functions, loops, and the value of its last expression',
    level: 'MUST',
    group,
    cites: ['execbox-runner.input.code', 'execbox-protocol.execute.code'],
    async run(session) {
      const code = [
        'function square(n) { return n * n; }',
        'const squares = [];',
        'for (const n of [1, 2, 3]) { squares.push(square(n)); }',
        'await Promise.resolve();',
        'squares.reduce((sum, n) => sum + n, 0) // the last expression',
      ].join('\n');
      expectEqual(resultOf(await session.run(code)), 14, 'the result');
    },
  },
  {
    id: 'runner.session.second-execute',
    title: 'A second execute while one is active is answered with done and internal_error',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.session.second-execute'],
    async run(session) {
      session.execute('await tools.echo(1)');
      await session.call();
      const second = session.execute('2');
      expectEqual(errorOf(await session.done(second)).code, 'internal_error', 'the error code');
    },
  },
  {
    id: 'runner.session.active-goes-on',
    title: 'A second execute does not disturb the active execution',
    level: 'MUST',
    group,
    cites: ['execbox-runner.session.one-active', 'execbox-runner.session.second-execute'],
    async run(session) {
      const first = session.execute('const got = await tools.echo(1); ["first", got]');
      const call = await session.call();
      session.execute('2');
      session.answer(call, { ok: true, result: 'mine' });
      expectEqual(resultOf(await session.done(first)), ['first', 'mine'], 'the result of the first execution');
    },
  },
  {
    id: 'runner.session.hang-up',
    title: 'A host that hangs up in the middle leaves a runner that serves the next session',
    level: 'MUST',
    group,
    cites: ['execbox-runner.cancel.close', 'execbox-runner.cancel.forced'],
    async run(session, { target }) {
      // A command is started afresh for each session: what another process serves says nothing about this one.
      if (target.kind === 'command') throw new NotApplicable('it takes a ws: address');
      const id = session.execute('await tools.echo(1)');
      await session.call();
      session.cancel(id);
      session.peer.end();
      const next = await session.again();
      expectEqual(resultOf(await next.run('"served"')), 'served', 'the result of the next session');
    },
  },
  {
    id: 'runner.session.ends-with-host',
    title: 'A runner on a pipe ends when its host hangs up',
    level: 'RECOMMENDED',
    reason: 'the text calls the close terminal for the session; a process that outlives its only session is an orphan',
    group,
    cites: ['execbox-runner.cancel.close'],
    async run(session, { target }) {
      if (target.kind === 'url') throw new NotApplicable('it takes a command');
      await session.done(session.execute('1'));
      session.peer.end();
      const ending = await session.peer.ended('the runner to end');
      expectThat(ending.exitCode === 0, 'an exit code of 0', ending.text);
    },
  },
  {
    id: 'runner.session.ends-in-run',
    title: 'A runner on a pipe ends when its host hangs up in the middle of a run',
    level: 'RECOMMENDED',
    reason: 'the close is terminal for the session; whoever waits for a tool_result then waits for ever',
    group,
    cites: ['execbox-runner.cancel.close'],
    async run(session, { target }) {
      if (target.kind === 'url') throw new NotApplicable('it takes a command');
      session.execute('await tools.echo(1)');
      await session.call();
      session.peer.end();
      await session.peer.ended('the runner to end');
    },
  },
  {
    id: 'runner.session.unknown-fields',
    title: 'Fields that the runner does not know are ignored',
    level: 'RECOMMENDED',
    reason: 'the protocol can only grow if both sides tolerate what they do not know',
    group,
    cites: [],
    async run(session) {
      session.peer.send({
        type: 'execute',
        id: 'exec-1',
        code: '1',
        options: { timeoutMs: 8_000, memoryLimitBytes: 67_108_864, maxLogLines: 1, maxLogChars: 10, colour: 'red' },
        providers: [],
        priority: 7,
      });
      expectEqual(resultOf(await session.done('exec-1')), 1, 'the result');
    },
  },
];

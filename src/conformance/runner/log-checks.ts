import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import type { OPTIONS } from './messages.js';
import { errorOf, type RunnerSession } from './session.js';

const group = 'Logs';

async function logsOf(session: RunnerSession, code: string, options: Partial<typeof OPTIONS> = {}): Promise<unknown> {
  return (await session.run(code, { options }))['logs'];
}

/** What `console` does, and how logs are cut. */
export const LOG_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.logs.four-methods',
    title: 'console.log, info, warn and error each append one line, in order',
    level: 'MUST',
    group,
    cites: ['execbox-runner.logs.methods', 'execbox-runner.logs.one-line', 'execbox-runner.logs.captured'],
    async run(session) {
      const code = "console.log('a'); console.info('b'); console.warn('c'); console.error('d'); 1";
      expectEqual(await logsOf(session, code), ['a', 'b', 'c', 'd'], 'the logs');
    },
  },
  {
    id: 'runner.logs.space-joined',
    title: 'A line is its arguments with a space between',
    level: 'MUST',
    group,
    cites: ['execbox-runner.logs.joined', 'execbox-runner.logs.one-line'],
    async run(session) {
      expectEqual(await logsOf(session, "console.log('a', 'b c', 'd'); 1"), ['a b c d'], 'the logs');
    },
  },
  {
    id: 'runner.logs.undefined',
    title: 'undefined is written as undefined',
    level: 'MUST',
    group,
    cites: ['execbox-runner.logs.undefined'],
    async run(session) {
      expectEqual(await logsOf(session, 'console.log(undefined); 1'), ['undefined'], 'the logs');
    },
  },
  {
    id: 'runner.logs.json',
    title: 'Values that are no text are written as JSON',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.logs.json'],
    async run(session) {
      const logs = await logsOf(session, 'console.log({ a: [1, null] }); console.log(7); console.log(true); 1');
      expectEqual(logs, ['{"a":[1,null]}', '7', 'true'], 'the logs');
    },
  },
  {
    id: 'runner.logs.fallback',
    title: 'Values that have no JSON are written in some other way, and fail nothing',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.logs.json'],
    async run(session) {
      const done = await session.run("const a = {}; a.a = a; console.log(a); console.log(10n, Symbol('s')); 'went on'");
      expectEqual([done['ok'], done['result']], [true, 'went on'], 'ok and the result');
      const logs = done['logs'];
      expectThat(Array.isArray(logs) && logs.length === 2 && String(logs[1]).includes('10'), 'two lines', done);
    },
  },
  {
    id: 'runner.logs.max-lines',
    title: 'maxLogLines keeps the earliest lines',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.truncation.lines',
      'execbox-runner.truncation.returned',
      'execbox-runner.input.options',
      'execbox-protocol.execute.options',
    ],
    async run(session) {
      const code = 'for (let n = 0; n < 5; n += 1) console.log("line " + n);\n1';
      expectEqual(await logsOf(session, code, { maxLogLines: 2 }), ['line 0', 'line 1'], 'the logs');
    },
  },
  {
    id: 'runner.logs.max-chars',
    title: 'maxLogChars counts over all lines, clips the line in which it is reached, and drops the rest',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.truncation.chars',
      'execbox-runner.truncation.clipped',
      'execbox-runner.truncation.returned',
      'execbox-runner.input.options',
    ],
    async run(session) {
      const code = "console.log('abcdef'); console.log('ghijkl'); console.log('mnopqr'); 1";
      expectEqual(await logsOf(session, code, { maxLogChars: 10 }), ['abcdef', 'ghij'], 'the logs');
    },
  },
  {
    id: 'runner.logs.lines-before-chars',
    title: 'maxLogLines applies before maxLogChars',
    level: 'MUST',
    group,
    cites: ['execbox-runner.truncation.lines', 'execbox-runner.truncation.chars'],
    async run(session) {
      const code = "console.log('aaaa'); console.log('bb'); console.log('cc'); 1";
      const logs = await logsOf(session, code, { maxLogLines: 2, maxLogChars: 7 });
      expectEqual(logs, ['aaaa', 'bb'], 'the logs');
    },
  },
  {
    id: 'runner.logs.of-failures',
    title: 'Logs come with done also when the run failed',
    level: 'MUST',
    group,
    cites: ['execbox-runner.logs.captured'],
    async run(session) {
      const done = await session.run("console.log('so far'); throw new Error('no further')");
      errorOf(done);
      expectEqual(done['logs'], ['so far'], 'the logs');
    },
  },
];

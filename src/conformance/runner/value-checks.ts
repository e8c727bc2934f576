import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { errorOf, type RunnerSession, resultOf } from './session.js';

const group = 'Values';

/** Every kind of value that may cross, in one. */
const ALLOWED = {
  none: null,
  text: 'grün "x"',
  yes: true,
  no: false,
  numbers: [0, -1.5, 1e21],
  list: [[], {}],
  of: { a: [1] },
};

/** What may not cross, as the source of an expression. */
const REFUSED: readonly (readonly [kind: string, cites: string, ...sources: string[]])[] = [
  ['bigint', 'values.bigint', '10n', '({ deep: [10n] })'],
  ['function', 'values.functions', '({ f() {} })', '[() => 1]'],
  ['symbol', 'values.symbols', 'Symbol("s")', '[Symbol("s")]'],
  ['non-finite', 'values.non-finite', 'NaN', '({ n: Infinity })', '[-Infinity]'],
  ['cycle', 'values.cyclic', '(() => { const a = {}; a.a = a; return a; })()'],
  ['non-plain', 'values.non-plain', 'new Map([[1, 2]])', '({ when: new Date(0) })', '[new (class Thing { x = 1 })()]'],
];

const refusedResults = REFUSED.map(
  ([kind, cited, ...sources]): Check<RunnerSession> => ({
    id: `runner.values.result-${kind}`,
    title: `A result with a ${kind} value is a serialization_error`,
    level: 'MUST',
    group,
    cites: [`execbox-runner.${cited}`, 'execbox-runner.values.final-results', 'execbox-runner.result.safe'],
    async run(session) {
      let own = session;
      for (const source of sources) {
        const done = await own.run(`const value = ${source};\nvalue`);
        expectEqual(errorOf(done).code, 'serialization_error', `the error code for ${source}`);
        own = await session.again();
      }
    },
  }),
);

/** What may cross the boundary, and what may not. */
export const VALUE_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.values.result-allowed',
    title: 'A result of every allowed kind arrives as it is',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.values.all',
      'execbox-runner.values.null',
      'execbox-runner.values.strings',
      'execbox-runner.values.booleans',
      'execbox-runner.values.numbers',
      'execbox-runner.values.arrays',
      'execbox-runner.values.objects',
      'execbox-protocol.trust.json-safe',
    ],
    async run(session) {
      const done = await session.run(`const value = ${JSON.stringify(ALLOWED)};\nvalue`);
      expectEqual(resultOf(done), ALLOWED, 'the result');
    },
  },
  {
    id: 'runner.values.result-undefined',
    title: 'A program without a value succeeds, without a result',
    level: 'MUST',
    group,
    cites: ['execbox-runner.values.undefined', 'execbox-runner.json.omitted-result', 'execbox-runner.result.safe'],
    async run(session) {
      const done = await session.run('undefined');
      expectThat(resultOf(done) === undefined, 'no result', done);
    },
  },
  ...refusedResults,
  {
    id: 'runner.values.input-allowed',
    title: 'An input of every allowed kind arrives as it is',
    level: 'MUST',
    group,
    cites: ['execbox-runner.values.all', 'execbox-runner.namespace.safe-input', 'execbox-protocol.tool-call.input'],
    async run(session) {
      session.execute(`await tools.echo(${JSON.stringify(ALLOWED)})`);
      expectEqual((await session.call())['input'], ALLOWED, 'the input');
    },
  },
  {
    id: 'runner.values.input-refused',
    title: 'A call with an input that may not cross fails in the program and never reaches the host',
    level: 'MUST',
    group,
    cites: ['execbox-runner.values.inputs', 'execbox-runner.namespace.safe-input', 'execbox-protocol.tool-call.input'],
    async run(session) {
      const sources = REFUSED.flatMap(([, , ...expressions]) => expressions);
      const tries = sources.map((source) => `try { await tools.echo(${source}); } catch { refused += 1; }`);
      const done = session.done(session.execute(`let refused = 0;\n${tries.join('\n')}\nrefused`));
      const first = await Promise.race([
        done,
        session.call('no tool_call').then((call) => ({ ...call, surfaced: true })),
      ]);
      expectThat(!('surfaced' in first), 'no tool_call for a value that may not cross', first);
      expectEqual(resultOf(first), sources.length, 'how many calls failed in the program');
    },
  },
  {
    id: 'runner.values.tool-result-allowed',
    title: 'A tool result of every allowed kind reaches the program as it is',
    level: 'MUST',
    group,
    cites: ['execbox-runner.values.all', 'execbox-runner.call.resolves', 'execbox-protocol.tool-result.result'],
    async run(session) {
      const done = await session.run('await tools.echo(1)', {}, { ok: true, result: ALLOWED });
      expectEqual(resultOf(done), ALLOWED, 'what the program returned');
    },
  },
  {
    id: 'runner.values.no-prototype',
    title: 'A key named __proto__ in a tool result changes no prototype',
    level: 'RECOMMENDED',
    reason: 'a result that changes prototypes would let one tool speak for all others',
    group,
    cites: [],
    async run(session) {
      const id = session.execute('const got = await tools.echo(1); [got.polluted ?? "no", ({}).polluted ?? "no"]');
      const call = await session.call();
      // An object literal would set the prototype instead of a key.
      session.answer(call, { ok: true, result: JSON.parse('{"__proto__":{"polluted":"yes"}}') });
      expectEqual(resultOf(await session.done(id)), ['no', 'no'], 'what is inherited');
    },
  },
];

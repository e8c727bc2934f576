import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import type { JsonObject } from '../target/codec.js';
import { manifest } from './messages.js';
import { type RunnerSession, resultOf } from './session.js';

const group = 'Tool calls';
const isDone = ({ type }: JsonObject): boolean => type === 'done';

/** What a tool call looks like, and how the program waits for its result. */
export const CALL_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.calls.shape',
    title: 'A tool call carries a callId, the namespace, the safe name and the input',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.call.names',
      'execbox-runner.pause.emit',
      'execbox-protocol.tool-call.provider-name',
      'execbox-protocol.tool-call.safe-tool-name',
      'execbox-protocol.tool-call.call-id',
    ],
    async run(session) {
      session.execute('await firecrawl.scrape_url({ url: "x:y" })', {
        providers: [manifest('firecrawl', ['scrape_url', 'scrape-url'])],
      });
      const { callId, providerName, safeToolName, input } = await session.call();
      const names = { providerName, safeToolName, input };
      expectEqual(
        names,
        { providerName: 'firecrawl', safeToolName: 'scrape_url', input: { url: 'x:y' } },
        'the names and the input',
      );
      expectThat(typeof callId === 'string' && callId !== '', 'a callId that is a string', callId);
    },
  },
  {
    id: 'runner.calls.first-argument',
    title: 'Only the first argument travels',
    level: 'MUST',
    group,
    cites: ['execbox-runner.namespace.first-argument'],
    async run(session) {
      session.execute('await tools.echo({ a: 1 }, { secret: 2 })');
      const call = await session.call();
      expectEqual(call['input'], { a: 1 }, 'the input');
      expectThat(!JSON.stringify(call).includes('secret'), 'a message without the second argument', call);
    },
  },
  {
    id: 'runner.calls.omitted-input',
    title: 'A call without an argument has no input, which is not null',
    level: 'MUST',
    group,
    cites: ['execbox-runner.namespace.omitted', 'execbox-runner.json.omitted-input', 'execbox-runner.values.undefined'],
    async run(session) {
      session.execute('await tools.echo()');
      const call = await session.call();
      expectThat(call['input'] === undefined, 'a tool_call without input', call);
    },
  },
  {
    id: 'runner.calls.without-await',
    title: 'A call that nobody awaits is sent all the same',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.tool-call.when', 'execbox-runner.pause.emit'],
    async run(session) {
      session.execute('tools.echo("by the way"); 5');
      expectEqual((await session.call())['input'], 'by the way', 'the input');
    },
  },
  {
    id: 'runner.calls.suspends',
    title: 'The program waits at its await until the result is there',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.namespace.suspend',
      'execbox-runner.pause.await',
      'execbox-runner.pause.wait',
      'execbox-protocol.trust.resumes',
    ],
    async run(session) {
      const id = session.execute('await tools.echo(1); await tools.other(2); "end"');
      const call = await session.call();
      await session.peer.quiet('nothing before the tool_result', ({ type }) => type !== 'started');
      session.answer(call);
      session.answer(await session.call());
      expectEqual(resultOf(await session.done(id)), 'end', 'the result');
    },
  },
  {
    id: 'runner.calls.resumes',
    title: 'The same execution goes on behind the await, with its variables and the result',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.pause.resume',
      'execbox-runner.pause.settle',
      'execbox-runner.call.resolves',
      'execbox-runner.session.no-callback',
      'execbox-runner.session.sustained',
    ],
    async run(session) {
      const id = session.execute('let n = 1; const page = await tools.echo({}); n += 1; [n, page.title ?? null]');
      session.answer(await session.call(), { ok: true, result: { title: 'Home' } });
      expectEqual(resultOf(await session.done(id)), [2, 'Home'], 'the result');
    },
  },
  {
    id: 'runner.calls.in-parallel',
    title: 'Calls that run in parallel are all pending at once and take their results in any order',
    level: 'MUST',
    group,
    cites: ['execbox-runner.pause.normal', 'execbox-runner.call.correlates', 'execbox-runner.correlation.matches'],
    async run(session) {
      const id = session.execute('await Promise.all([tools.echo("a"), tools.echo("b")])');
      const calls = [await session.call(), await session.call('a second tool_call before the first is answered')];
      const [a, b] = ['a', 'b'].map((input) => calls.find((call) => call['input'] === input));
      expectThat(a !== undefined && b !== undefined, 'one call for a and one for b', calls);
      session.answer(b, { ok: true, result: 'B' });
      session.answer(a, { ok: true, result: 'A' });
      expectEqual(resultOf(await session.done(id)), ['A', 'B'], 'the result');
    },
  },
  {
    id: 'runner.calls.many-unique-ids',
    title: 'Calls may repeat, and no callId comes twice in an execution',
    level: 'MUST',
    group,
    cites: [
      'execbox-runner.state.repeat',
      'execbox-runner.call.unique',
      'execbox-runner.call.no-repeat',
      'execbox-runner.correlation.call-id',
    ],
    async run(session) {
      const id = session.execute('for (let n = 0; n < 10; n += 1) await tools.echo(n);\n"ten"');
      const seen = new Set<unknown>();
      for (let n = 0; n < 10; n += 1) {
        const call = await session.call(`tool_call number ${n + 1}`);
        expectThat(!seen.has(call['callId']), 'a callId that was not used before', call);
        seen.add(call['callId']);
        session.answer(call);
      }
      expectEqual(resultOf(await session.done(id)), 'ten', 'the result');
    },
  },
  {
    id: 'runner.calls.stray-result',
    title: 'A tool_result for a call that nobody made resumes nothing',
    level: 'MUST',
    group,
    cites: ['execbox-runner.correlation.matches', 'execbox-runner.pause.wait', 'execbox-protocol.correlation.call-id'],
    async run(session) {
      const id = session.execute('await tools.echo(1)');
      const call = await session.call();
      session.answer({ callId: 'nobody-made-this' }, { ok: true, result: 'stray' });
      await session.peer.quiet('no done before the matching tool_result', isDone);
      session.answer(call, { ok: true, result: 'mine' });
      expectEqual(resultOf(await session.done(id)), 'mine', 'the result');
    },
  },
  {
    id: 'runner.calls.settled-once',
    title: 'A second tool_result for a call that is settled changes nothing',
    level: 'MUST',
    group,
    cites: ['execbox-runner.correlation.settled', 'execbox-runner.call.correlates'],
    async run(session) {
      const id = session.execute('const a = await tools.echo(1); const b = await tools.other(2); [a, b]');
      const first = await session.call();
      session.answer(first, { ok: true, result: 'x' });
      session.answer(first, { ok: true, result: 'again' });
      session.answer(await session.call('the second tool_call'), { ok: true, result: 'y' });
      expectEqual(resultOf(await session.done(id)), ['x', 'y'], 'the result');
    },
  },
  {
    id: 'runner.calls.result-undefined',
    title: 'A successful tool_result without a result resolves to undefined',
    level: 'RECOMMENDED',
    reason:
      'a tool that returns undefined loses the field over JSON; a runner that drops such a message hangs until its timeout',
    group,
    cites: ['execbox-runner.values.undefined'],
    async run(session) {
      const done = await session.run('typeof (await tools.echo(1))', {}, { ok: true });
      expectEqual(resultOf(done), 'undefined', 'the type of the result');
    },
  },
  {
    id: 'runner.calls.failure-rejects',
    title: "A failed tool_result rejects with an error that has the host's message and code, and can be caught",
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.rejects', 'execbox-protocol.tool-result.ok', 'execbox-protocol.tool-result.error'],
    async run(session) {
      const code = 'let got; try { await tools.echo(1) } catch (e) { got = [e.message, e.code] }\ngot';
      const error = { code: 'validation_error', message: 'n must be a number' };
      const done = await session.run(code, {}, { ok: false, error });
      expectEqual(resultOf(done), [error.message, error.code], 'message and code of what was caught');
    },
  },
];

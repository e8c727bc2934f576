import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { ERROR_CODES } from '../runner/messages.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { type HostSession, ofHost } from './session.js';

const group = 'Tool calls';

/** The error of a failed tool_result. Fails for any other. */
function errorOf(answer: JsonObject): JsonObject {
  const error = answer['error'];
  expectThat(answer['ok'] === false && isObject(error), 'tool_result with ok: false and an error', answer);
  expectThat(typeof error['message'] === 'string', 'an error with a message', answer);
  return error;
}

/** A call that no tool can take: the host says so, or ends the session; it never succeeds, and is never left hanging. */
async function expectRefused(session: HostSession, call: JsonObject): Promise<void> {
  await session.begin();
  session.say({ type: 'tool_call', callId: 'call-1', input: null, ...call });
  const answer = await session.peer.next('a failed tool_result, or the end of the execution', (line) => {
    const failed = line['type'] === 'result' && isObject(line['result']) ? line['result'] : undefined;
    return ofHost(line, 'tool_result') ?? failed;
  });
  expectThat(answer['ok'] === false, 'a failure', answer);
  await session.peer.quiet('no tool to be called', ({ type }) => type === 'called');
}

/** What a host does with the calls of a program. */
export const TOOL_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'host.tools.answers',
    title: 'A call is answered with tool_result, the same callId, and what the tool returned',
    level: 'MUST',
    group,
    cites: [
      'execbox-protocol.tool-result.when',
      'execbox-protocol.tool-result.call-id',
      'execbox-protocol.tool-result.result',
      'execbox-runner.call.one-result',
    ],
    async run(session) {
      await session.begin();
      const input = { a: [1, null, 'x'], b: true };
      const answer = await session.answer(session.call('echo', { input }));
      expectEqual([answer['ok'], answer['result']], [true, input], 'ok and result');
    },
  },
  {
    id: 'host.tools.gets-input',
    title: 'The tool gets the input of the call',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.tool-call.input'],
    async run(session) {
      await session.begin();
      session.call('echo', { input: { n: 7 } });
      expectEqual((await session.noticed('called', 'echo'))['input'], { n: 7 }, 'what the tool got');
    },
  },
  {
    id: 'host.tools.one-answer',
    title: 'A call is answered once',
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.one-result', 'execbox-protocol.tool-result.when'],
    async run(session) {
      await session.begin();
      await session.answer(session.call('echo'));
      await session.peer.quiet('no second tool_result', (line) => ofHost(line, 'tool_result'));
    },
  },
  {
    id: 'host.tools.several',
    title: 'Calls that come together are all answered, each under its own callId',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.correlation.call-id', 'execbox-protocol.tool-result.call-id'],
    async run(session) {
      await session.begin();
      const inputs = ['first', 'second', 'third'];
      const calls = inputs.map((input) => session.call('echo', { input }));
      for (const [index, callId] of calls.entries()) {
        expectEqual((await session.answer(callId))['result'], inputs[index], `the result of the ${inputs[index]} call`);
      }
    },
  },
  {
    id: 'host.tools.in-parallel',
    title: 'A call is answered while another one waits',
    level: 'RECOMMENDED',
    reason:
      'programs await several calls together; the text does not say that one which waits may not hold up the others',
    group,
    cites: ['execbox-protocol.correlation.call-id'],
    async run(session) {
      await session.begin();
      session.call('hang');
      const second = session.call('echo', { input: 'second' });
      const third = session.call('echo', { input: 'third' });
      expectEqual((await session.answer(third))['result'], 'third', 'the result of the third call');
      expectEqual((await session.answer(second))['result'], 'second', 'the result of the second call');
    },
  },
  {
    id: 'host.tools.by-safe-name',
    title: 'A tool is called by its safeName',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.tool-call.safe-tool-name', 'execbox-runner.call.names'],
    async run(session) {
      session.give();
      const execute = await session.message('execute');
      const safeName = safeNameOf(execute, 'say-hi');
      session.say({ type: 'started', id: execute['id'] });
      expectEqual((await session.answer(session.call(safeName, { input: 'hi' })))['result'], 'hi', 'the result');
    },
  },
  {
    id: 'host.tools.no-input',
    title: 'A call without input reaches the tool, as undefined',
    level: 'MUST',
    group,
    cites: ['execbox-runner.json.omitted-input', 'execbox-runner.namespace.omitted', 'execbox-runner.values.undefined'],
    async run(session) {
      await session.begin();
      const callId = session.call('echo', {});
      const called = await session.noticed('called', 'echo');
      expectThat(called['input'] === undefined, 'no input', called);
      expectEqual((await session.answer(callId))['ok'], true, 'ok');
    },
  },
  {
    id: 'host.tools.no-result',
    title: 'A tool that returns nothing is a success without a result',
    level: 'RECOMMENDED',
    reason: 'the list of allowed values has undefined; a null in its place is another value',
    group,
    cites: ['execbox-runner.values.undefined'],
    async run(session) {
      await session.begin();
      const answer = await session.answer(session.call('nothing'));
      expectThat(answer['ok'] === true && answer['result'] === undefined, 'ok: true without a result', answer);
    },
  },
  {
    id: 'host.tools.failure',
    title: 'A tool that throws is a tool_result with ok: false, a public code and a message',
    level: 'MUST',
    group,
    cites: [
      'execbox-protocol.tool-result.ok',
      'execbox-protocol.tool-result.error',
      'execbox-protocol.trust.classifies',
      'execbox-runner.codes.set',
    ],
    async run(session) {
      await session.begin();
      const answer = await session.answer(session.call('fail'));
      expectThat(ERROR_CODES.includes(String(errorOf(answer)['code'])), 'a public code', answer);
    },
  },
  {
    id: 'host.tools.failure-code',
    title: 'A tool that throws is a tool_error',
    level: 'SHOULD',
    group,
    cites: ['execbox-protocol.trust.classifies'],
    async run(session) {
      await session.begin();
      const answer = await session.answer(session.call('fail'));
      expectEqual(errorOf(answer)['code'], 'tool_error', 'the code');
    },
  },
  {
    id: 'host.tools.failure-goes-on',
    title: 'A tool that throws does not end the execution',
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.rejects', 'execbox-protocol.tool-result.error'],
    async run(session) {
      const id = await session.begin();
      await session.answer(session.call('fail'));
      session.done(id, { ok: true, result: 'caught' });
      const { ok, result } = await session.result();
      expectEqual([ok, result], [true, 'caught'], 'ok and result');
    },
  },
  {
    id: 'host.tools.invalid-input',
    title: 'An input that does not fit is a validation_error, and the tool is not called',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.trust.classifies'],
    async run(session) {
      await session.begin();
      const answer = await session.answer(session.call('strict', { input: { n: 'seven' } }));
      expectEqual(errorOf(answer)['code'], 'validation_error', 'the code');
      await session.peer.quiet('the tool not to be called', ({ type }) => type === 'called');
    },
  },
  {
    id: 'host.tools.bad-result',
    title: 'A result that is not transport-safe is a serialization_error',
    level: 'MUST',
    group,
    cites: [
      'execbox-protocol.trust.rejects',
      'execbox-runner.values.tool-results',
      'execbox-protocol.trust.json-safe',
      'execbox-runner.values.all',
    ],
    async run(session) {
      await session.begin();
      const answer = await session.answer(session.call('bad'));
      expectEqual(errorOf(answer)['code'], 'serialization_error', 'the code');
    },
  },
  {
    id: 'host.tools.unknown-tool',
    title: 'A call of a tool that is not there fails, and calls nothing',
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.one-result', 'execbox-protocol.trust.classifies'],
    run: (session) => expectRefused(session, { providerName: 'tools', safeToolName: 'nosuch' }),
  },
  {
    id: 'host.tools.unknown-provider',
    title: 'A call into a namespace that is not there fails, and calls nothing',
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.one-result', 'execbox-runner.call.names'],
    run: (session) => expectRefused(session, { providerName: 'nosuch', safeToolName: 'echo' }),
  },
  {
    id: 'host.tools.prototype-names',
    title: 'Names such as constructor are no tools',
    level: 'RECOMMENDED',
    reason: 'a table that is a plain object has more names than were put into it, and the runner is not trusted',
    group,
    cites: [],
    run: (session) => expectRefused(session, { providerName: 'tools', safeToolName: 'constructor' }),
  },
  {
    id: 'host.tools.repeated-call-id',
    title: 'A call whose callId was there before runs no tool again',
    level: 'RECOMMENDED',
    reason:
      'a runner that repeats a message must not make a tool act twice; the text forbids the runner to, and the runner is not trusted',
    group,
    cites: ['execbox-runner.call.no-repeat'],
    async run(session) {
      await session.begin();
      const call = { type: 'tool_call', callId: 'call-x', providerName: 'tools', safeToolName: 'echo', input: 1 };
      session.say(call);
      await session.noticed('called', 'echo');
      session.say(call);
      await session.peer.quiet('no second call of the tool', ({ type }) => type === 'called');
    },
  },
];

function safeNameOf(execute: JsonObject, originalName: string): string {
  const providers = Array.isArray(execute['providers']) ? execute['providers'] : [];
  for (const provider of providers.filter(isObject)) {
    for (const tool of Object.values(isObject(provider['tools']) ? provider['tools'] : {})) {
      if (isObject(tool) && tool['originalName'] === originalName) return String(tool['safeName']);
    }
  }
  return originalName;
}

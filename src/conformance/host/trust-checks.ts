import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { failureOf } from './result-checks.js';
import type { HostSession } from './session.js';

const group = 'Trust';
const UNTRUSTED =
  'the runner is less trusted than its host: what breaks the contract must not reach the caller as if it were whole';

/** What a host makes of a runner that lies. */
export const TRUST_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'host.trust.error-codes',
    title: 'A code that is not of the protocol does not reach the caller',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.codes.set', 'execbox-runner.mapping.unknown'],
    async run(session) {
      session.done(await session.begin(), { ok: false, error: { code: 'all_is_well', message: 'x' } });
      failureOf(await session.result());
    },
  },
  {
    id: 'host.trust.timeout-text',
    title: 'A failure that only talks of a timeout stays what its code says',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.failure.classification', 'execbox-runner.mapping.not-upgraded'],
    async run(session) {
      const error = { code: 'runtime_error', message: 'Execution timed out' };
      session.done(await session.begin(), { ok: false, error });
      expectEqual(failureOf(await session.result())['code'], 'runtime_error', 'the code');
    },
  },
  {
    id: 'host.trust.failure-without-error',
    title: 'A failed done without an error is still a failure with an error for the caller',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.json.explicit-error', 'execbox-runner.result.exactly-one'],
    async run(session) {
      session.done(await session.begin(), { ok: false });
      failureOf(await session.result());
    },
  },
  {
    id: 'host.trust.error-without-message',
    title: 'An error always has a message for the caller',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.json.explicit-error'],
    async run(session) {
      session.done(await session.begin(), { ok: false, error: { code: 'runtime_error', message: { not: 'text' } } });
      const result = await session.result();
      expectThat(typeof failureOf(result)['message'] === 'string', 'a message that is text', result);
    },
  },
  {
    id: 'host.trust.logs-are-text',
    title: 'Logs that are no text do not reach the caller as they are',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.result.logs'],
    async run(session) {
      session.done(await session.begin(), { ok: true, result: 1, logs: ['a', 7, { b: 1 }] });
      const { logs } = await session.result();
      expectThat(Array.isArray(logs) && logs.every((line) => typeof line === 'string'), 'a list of strings', logs);
    },
  },
  {
    id: 'host.trust.log-lines',
    title: 'A runner that ignores maxLogLines does not flood the caller',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.truncation.lines'],
    async run(session) {
      const id = await session.begin({ options: { maxLogLines: 2 } });
      session.done(id, { ok: true, result: 1, logs: ['a', 'b', 'c', 'd'] });
      const { logs } = await session.result();
      expectThat(Array.isArray(logs) && logs.length <= 2, 'at most two lines', logs);
    },
  },
  {
    id: 'host.trust.log-chars',
    title: 'A runner that ignores maxLogChars does not flood the caller',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.truncation.chars'],
    async run(session) {
      const id = await session.begin({ options: { maxLogChars: 10 } });
      session.done(id, { ok: true, result: 1, logs: ['abcdef', 'x'.repeat(100)] });
      const { logs } = await session.result();
      expectThat(Array.isArray(logs) && logs.join('').length <= 10, 'at most ten characters', logs);
    },
  },
  {
    id: 'host.trust.duration',
    title: 'A duration that cannot be does not reach the caller',
    level: 'RECOMMENDED',
    reason: UNTRUSTED,
    group,
    cites: ['execbox-runner.result.duration'],
    async run(session) {
      session.done(await session.begin(), { ok: true, result: 1, durationMs: -5 });
      const { durationMs } = await session.result();
      expectThat(typeof durationMs === 'number' && durationMs >= 0, 'a duration of at least 0', durationMs);
    },
  },
  {
    id: 'host.trust.unknown-message',
    title: 'A message that is none does not leave the caller without a result',
    level: 'RECOMMENDED',
    reason: 'whether it is ignored or ends the session is open, a host that breaks is not',
    group,
    cites: [],
    async run(session) {
      const id = await session.begin();
      session.say({ type: 'nonsense', of: [1] });
      session.say({ type: 'tool_call', callId: 7 });
      session.done(id);
      expectEqual(typeof (await session.result())['ok'], 'boolean', 'the type of ok');
    },
  },
];

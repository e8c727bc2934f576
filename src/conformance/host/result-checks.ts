import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { ERROR_CODES } from '../runner/messages.js';
import { isObject, type JsonObject } from '../target/codec.js';
import type { HostSession } from './session.js';

const group = 'Results';

/** The error of a failed result, with a code of the protocol. Fails for any other. */
export function failureOf(result: JsonObject): JsonObject {
  const error = result['error'];
  expectThat(result['ok'] === false && isObject(error), 'a failure with an error', result);
  expectThat(ERROR_CODES.includes(String(error['code'])), 'a public error code', result);
  return error;
}

/** What the caller of a host gets. */
export const RESULT_CHECKS: readonly Check<HostSession>[] = [
  {
    id: 'host.result.success',
    title: 'A successful done settles the execution with its result and logs',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.correlation.done', 'execbox-protocol.done.shape', 'execbox-runner.result.logs'],
    async run(session) {
      const id = await session.begin();
      session.done(id, { ok: true, result: { a: [1] }, logs: ['one', 'two'] });
      const { ok, result, logs } = await session.result();
      expectEqual([ok, result, logs], [true, { a: [1] }, ['one', 'two']], 'ok, result and logs');
    },
  },
  {
    id: 'host.result.undefined',
    title: 'A successful done without a result is a success without one',
    level: 'MUST',
    group,
    cites: ['execbox-runner.json.omitted-result', 'execbox-runner.result.safe'],
    async run(session) {
      session.done(await session.begin(), { ok: true });
      const result = await session.result();
      expectThat(result['ok'] === true && result['result'] === undefined, 'a success without a result', result);
    },
  },
  {
    id: 'host.result.failure',
    title: 'A failed done settles the execution with its code and message',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.done.shape', 'execbox-runner.result.exactly-one', 'execbox-runner.mapping.trusted'],
    async run(session) {
      session.done(await session.begin(), { ok: false, error: { code: 'runtime_error', message: 'boom' } });
      const result = await session.result();
      const { code, message } = failureOf(result);
      expectEqual([code, message], ['runtime_error', 'boom'], 'code and message');
      expectThat(result['result'] === undefined, 'no result in a failure', result);
    },
  },
  {
    id: 'host.result.other-id',
    title: 'Messages with another id are ignored',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.correlation.other-id', 'execbox-runner.correlation.ignores'],
    async run(session) {
      const id = await session.begin();
      session.done('somebody-else', { ok: true, result: 'not mine' });
      await session.peer.quiet('no result yet', ({ type }) => type === 'result');
      session.done(id, { ok: true, result: 'mine' });
      expectEqual((await session.result())['result'], 'mine', 'the result');
    },
  },
  {
    id: 'host.result.first-done-counts',
    title: 'A second done changes nothing',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.correlation.done', 'execbox-runner.state.one-done'],
    async run(session) {
      const id = await session.begin();
      session.done(id, { ok: true, result: 'first' });
      session.done(id, { ok: true, result: 'second' });
      expectEqual((await session.result())['result'], 'first', 'the result');
      await session.peer.quiet('no second result', ({ type }) => type === 'result');
    },
  },
  {
    id: 'host.result.no-calls-after-done',
    title: 'A call that comes after done runs no tool',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.correlation.done', 'execbox-runner.state.complete'],
    async run(session) {
      session.done(await session.begin());
      session.call('echo');
      await session.result();
      await session.peer.quiet('no tool to be called', ({ type }) => type === 'called');
    },
  },
  {
    id: 'host.result.duration',
    title: 'A result says how long the run took',
    level: 'MUST',
    group,
    cites: ['execbox-protocol.done.shape'],
    async run(session) {
      session.done(await session.begin());
      const { durationMs } = await session.result();
      expectThat(typeof durationMs === 'number' && durationMs >= 0, 'durationMs of at least 0', durationMs);
    },
  },
];

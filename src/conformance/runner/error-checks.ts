import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import type { JsonObject } from '../target/codec.js';
import { ERROR_CODES } from './messages.js';
import { errorOf, type RunnerSession } from './session.js';

const group = 'Errors';

const TRUSTED = { code: 'validation_error', message: 'n must be a number' };

/** The guest's own failure: whatever it says, it is neither a timeout nor a trusted verdict. */
function expectOwnFailure(done: JsonObject): void {
  const { code } = errorOf(done);
  expectThat(code === 'runtime_error' || code === 'internal_error', 'runtime_error or internal_error', done);
}

/** Which failure gets which code, and what may not be forged. */
export const ERROR_CHECKS: readonly Check<RunnerSession>[] = [
  {
    id: 'runner.errors.thrown',
    title: 'An uncaught error of the program is a failure of the program, with its message',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.mapping.unknown'],
    async run(session) {
      const done = await session.run("throw new Error('boom 42')");
      expectOwnFailure(done);
      expectThat(String(errorOf(done)['message']).includes('boom 42'), 'the message of the error', done);
    },
  },
  {
    id: 'runner.errors.thrown-anything',
    title: 'Whatever is thrown, null and objects with traps included, ends in a failure with a message',
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.mapping.unknown', 'execbox-runner.json.explicit-error'],
    async run(session) {
      let own = session;
      for (const value of ['null', "'text'", "({ get message() { throw new Error('trap'); } })"]) {
        const done = await own.run(`throw ${value}`);
        expectOwnFailure(done);
        expectThat(typeof errorOf(done)['message'] === 'string', 'an error with a message', done);
        own = await session.again();
      }
    },
  },
  {
    id: 'runner.errors.public-codes',
    title: 'Every failure has one of the seven codes, also a program that does not parse',
    level: 'MUST',
    group,
    cites: ['execbox-runner.codes.set', 'execbox-runner.json.explicit-error'],
    async run(session) {
      let own = session;
      for (const code of ['const = 1', "throw new TypeError('x')", 'null.length']) {
        const done = await own.run(code);
        const error = errorOf(done);
        expectThat(ERROR_CODES.includes(String(error.code)), `one of ${ERROR_CODES.join(', ')}`, done);
        own = await session.again();
      }
    },
  },
  {
    id: 'runner.errors.trusted-code',
    title: "A tool failure that nobody catches ends the run with the host's code and message",
    level: 'SHOULD',
    group,
    cites: ['execbox-runner.mapping.trusted', 'execbox-runner.call.distinguishable'],
    async run(session) {
      const done = await session.run('await tools.echo(1)', {}, { ok: false, error: TRUSTED });
      const { code, message } = errorOf(done);
      expectEqual([code, message], [TRUSTED.code, TRUSTED.message], 'code and message');
    },
  },
  {
    id: 'runner.errors.forged-code',
    title: 'An error that the program makes up does not pass for one of the host, whatever its code says',
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.distinguishable', 'execbox-runner.mapping.not-upgraded'],
    async run(session) {
      const code = "throw Object.assign(new Error('n must be a number'), { code: 'validation_error' })";
      expectOwnFailure(await session.run(code));
    },
  },
  {
    id: 'runner.errors.copied-code',
    title: 'A copy that the program makes of a failure of the host does not pass for it',
    level: 'MUST',
    group,
    cites: ['execbox-runner.call.distinguishable'],
    async run(session) {
      const copy = 'Object.assign(new Error(e.message), { name: e.name, code: e.code })';
      const code = `try { await tools.echo(1) } catch (e) { throw ${copy} }`;
      expectOwnFailure(await session.run(code, {}, { ok: false, error: TRUSTED }));
    },
  },
  {
    id: 'runner.errors.forged-timeout-code',
    title: 'A tool failure whose code the program changes to timeout is no timeout',
    level: 'MUST',
    group,
    cites: ['execbox-runner.mapping.timeout'],
    async run(session) {
      const code = "try { await tools.echo(1) } catch (e) { try { e.code = 'timeout' } catch {} throw e }";
      const done = await session.run(code, {}, { ok: false, error: TRUSTED });
      expectThat(errorOf(done).code !== 'timeout', 'a code other than timeout', done);
    },
  },
  {
    id: 'runner.errors.timeout-text',
    title: 'An error that only talks of a timeout is no timeout',
    level: 'MUST',
    group,
    cites: ['execbox-runner.mapping.not-upgraded', 'execbox-runner.mapping.timeout'],
    async run(session) {
      expectOwnFailure(await session.run("throw new Error('Execution timed out')"));
    },
  },
  {
    id: 'runner.errors.memory-text',
    title: 'An error that only talks of memory is no memory_limit',
    level: 'MUST',
    group,
    cites: ['execbox-runner.mapping.not-upgraded', 'execbox-runner.mapping.memory'],
    async run(session) {
      expectOwnFailure(await session.run("throw new Error('out of memory: memory limit exceeded')"));
    },
  },
  {
    id: 'runner.errors.timeout-busy',
    title: 'A program that never yields ends as timeout',
    level: 'MUST',
    group,
    cites: ['execbox-runner.input.options', 'execbox-runner.mapping.timeout', 'execbox-protocol.execute.options'],
    async run(session) {
      const done = await session.run('for (;;) {}', { options: { timeoutMs: 300 } });
      expectEqual(errorOf(done).code, 'timeout', 'the error code');
    },
  },
  {
    id: 'runner.errors.timeout-busy-later',
    title: 'A program that never yields after a tool call ends as timeout',
    level: 'MUST',
    group,
    cites: ['execbox-runner.input.options', 'execbox-runner.mapping.timeout'],
    async run(session) {
      const done = await session.run('await tools.echo(1); for (;;) {}', { options: { timeoutMs: 400 } });
      expectEqual(errorOf(done).code, 'timeout', 'the error code');
    },
  },
  {
    id: 'runner.errors.timeout-waiting',
    title: 'A program whose tool is never answered ends as timeout',
    level: 'MUST',
    group,
    cites: ['execbox-runner.input.options', 'execbox-runner.mapping.timeout'],
    async run(session) {
      const id = session.execute('await tools.echo(1)', { options: { timeoutMs: 300 } });
      // Not even the call is waited for: on a slow machine the time may be up before it is made.
      expectEqual(errorOf(await session.done(id)).code, 'timeout', 'the error code');
    },
  },
  {
    id: 'runner.errors.memory-limit',
    title: 'A program that uses more memory than it may ends as memory_limit',
    level: 'MUST',
    group,
    cites: ['execbox-runner.input.options', 'execbox-runner.mapping.memory'],
    async run(session) {
      const code = 'const kept = [];\nfor (;;) kept.push(new Array(1000).fill(kept.length))';
      const done = await session.run(code, { options: { memoryLimitBytes: 24 * 1024 * 1024 } });
      expectEqual(errorOf(done).code, 'memory_limit', 'the error code');
    },
  },
];

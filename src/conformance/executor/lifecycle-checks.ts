import { basename, dirname, isAbsolute } from 'node:path';
import { type Check, NotApplicable } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import type { HttpAnswer } from '../target/http.js';
import { isOnThisMachine } from '../target/target.js';
import { type ExecutorSession, expectFailure } from './session.js';

const group = 'Standard';
/** What the text asks for at least. */
const MINIMUM_MS = 60_000;

/** Some executors take a shorter limit from a request; who does not know the field ignores it. */
const SHORT = { timeoutMs: 1_500 };

/** How much longer than the check a tool runs. It ends by itself then: an executor that goes on with it has no place for others. */
const LONGER_MS = 2_000;

/**
 * The mark of the check in two halves, so that the arguments of whatever is handed the params do not look like those of a process
 * that bears it.
 */
function markOf({ context }: ExecutorSession): readonly [string, string] {
  const [first = '', ...rest] = context.strays.mark.split('-');
  return [first, rest.join('-')];
}

/** Has what a tool wrote be removed with the check where it is on this machine. The target may say any path: only the mark counts. */
function removeHere({ context }: ExecutorSession, file: unknown, mark: string): void {
  if (!isOnThisMachine(context.target) || typeof file !== 'string' || !isAbsolute(file)) return;
  if (basename(dirname(file)) === mark) context.removes(dirname(file));
}

/** Runs a tool that does not end in time. Does not apply when the executor's own limit is longer than the check may take. */
async function timedOut(session: ExecutorSession, name: string, given: JsonObject = {}): Promise<HttpAnswer> {
  session.registry();
  const { json } = await session.get('/info');
  const capabilities = isObject(json) && isObject(json['capabilities']) ? json['capabilities'] : {};
  const limit = capabilities['maxExecutionTimeMs'];
  const { deadline } = session.context;
  try {
    return await session.tool(name, {
      ...SHORT,
      params: { ...given, ms: Math.round(deadline.remainingMs) + LONGER_MS },
    });
  } catch (error) {
    if (!deadline.signal.aborted || (typeof limit === 'number' && limit < deadline.limitMs)) throw error;
    const known = typeof limit === 'number' ? `${limit} ms` : 'not known';
    throw new NotApplicable(`its limit is ${known}, and the check may take ${deadline.limitMs} ms: see --timeout`);
  }
}

/** Limits of time. */
export const TIMEOUT_CHECKS: readonly Check<ExecutorSession>[] = [
  {
    id: 'executor.timeouts.never',
    title: 'A tool that does not settle is ended, with EXECUTION_TIMEOUT',
    level: 'MUST',
    group,
    cites: ['tpmjs.timeouts.enforce', 'tpmjs.timeouts.code', 'tpmjs.codes.timeout'],
    run: async (session) => void expectFailure(await timedOut(session, 'sleeps'), 'EXECUTION_TIMEOUT'),
  },
  {
    id: 'executor.timeouts.busy',
    title: 'A tool that never lets go of its processor is ended, with EXECUTION_TIMEOUT',
    level: 'MUST',
    group,
    cites: ['tpmjs.timeouts.enforce', 'tpmjs.timeouts.code', 'tpmjs.codes.timeout'],
    async run(session) {
      await session.requireIsolation();
      expectFailure(await timedOut(session, 'busy'), 'EXECUTION_TIMEOUT');
    },
  },
  {
    id: 'executor.timeouts.serves-on',
    title: 'After a timeout the next tool runs',
    level: 'MUST',
    group,
    cites: ['tpmjs.timeouts.enforce'],
    async run(session) {
      await timedOut(session, 'sleeps');
      expectEqual(await session.output('echo', { params: { a: 1 } }), { a: 1 }, 'the output');
    },
  },
  {
    id: 'executor.timeouts.cleanup',
    title: 'What a tool started is ended when its time is up',
    level: 'MUST',
    group,
    cites: ['tpmjs.timeouts.cleanup'],
    async run(session) {
      await session.requireIsolation();
      const mark = markOf(session);
      await timedOut(session, 'startsMarked', { mark });
      expectEqual(await session.output('findsMarked', { params: { mark } }), false, 'whether its process is there');
    },
  },
  {
    id: 'executor.timeouts.minimum',
    title: 'The maxExecutionTimeMs that the executor announces is a minute at least',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.timeouts.minimum'],
    async run(session) {
      const { maxExecutionTimeMs } = await session.capabilities();
      if (maxExecutionTimeMs === undefined) throw new NotApplicable('it gives no maxExecutionTimeMs');
      expectThat(Number(maxExecutionTimeMs) >= MINIMUM_MS, `maxExecutionTimeMs of ${MINIMUM_MS}`, maxExecutionTimeMs);
    },
  },
];

/** What is left behind, and what gets from one call to another. */
export const ISOLATION_CHECKS: readonly Check<ExecutorSession>[] = [
  {
    id: 'executor.cleanup.files',
    title: 'What a tool writes to the temporary folder is gone afterwards',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.lifecycle.cleanup', 'tpmjs.lifecycle.isolate'],
    async run(session) {
      await session.requireIsolation();
      const mark = markOf(session);
      const file = await session.output('writesFile', { params: { mark } });
      removeHere(session, file, mark.join('-'));
      const there = await session.output('readsFile', { params: { file } });
      if (there !== false) await session.tool('removesFile', { params: { mark, file } });
      expectEqual(there, false, `whether ${file} is there`);
    },
  },
  {
    id: 'executor.cleanup.processes',
    title: 'What a tool starts is ended with it',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.lifecycle.cleanup'],
    async run(session) {
      await session.requireIsolation();
      const { remainingMs } = session.context.deadline;
      const params = { mark: markOf(session), ms: Math.round(remainingMs) + LONGER_MS };
      const pid = await session.output('startsProcess', { params });
      expectEqual(await session.output('findsProcess', { params: { pid } }), false, `whether process ${pid} is there`);
    },
  },
  {
    id: 'executor.isolation.exit',
    title: 'A tool that leaves its process is TOOL_EXECUTION_ERROR, and the executor serves on',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.info.process', 'tpmjs.codes.tool-error'],
    async run(session) {
      await session.requireIsolation();
      expectFailure(await session.tool('leaves'), 'TOOL_EXECUTION_ERROR');
      expectEqual((await session.get('/health')).status, 200, 'the status of /health');
    },
  },
  {
    id: 'executor.isolation.state',
    title: 'What a tool leaves in its memory is not there for the next call',
    level: 'RECOMMENDED',
    reason: 'the next call may be of somebody else',
    group,
    cites: ['tpmjs.lifecycle.isolate'],
    async run(session) {
      await session.requireIsolation();
      await session.output('counts');
      expectEqual(await session.output('counts'), 1, 'the second count');
    },
  },
  {
    id: 'executor.isolation.own-key',
    title: 'The environment of the executor is not that of a tool',
    level: 'RECOMMENDED',
    reason: 'it has the key of the executor, and often more',
    group,
    cites: ['tpmjs.lifecycle.isolate'],
    async run(session) {
      await session.requireIsolation();
      const output = await session.output('environment', { params: { names: ['EXECUTOR_API_KEY'] } });
      expectEqual(output, { EXECUTOR_API_KEY: null }, 'the output');
    },
  },
  {
    id: 'executor.isolation.prints',
    title: 'What a tool prints does not get into the answer',
    level: 'RECOMMENDED',
    reason: 'a result that is read from standard output can be forged by any dependency',
    group,
    cites: ['tpmjs.response.output'],
    async run(session) {
      expectEqual(await session.output('prints'), 'printed', 'the output');
    },
  },
];

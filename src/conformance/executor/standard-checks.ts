import { type Check, NotApplicable } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject } from '../target/codec.js';
import { MISSING, TOOLS } from './registry/packages.js';
import { type ExecutorSession, expectRefusal } from './session.js';

const group = 'Standard';
const REQUEST = { packageName: TOOLS, name: 'echo' };

/** A request without a key, or with another than the right one. */
function postAs(session: ExecutorSession, authorization: string | undefined, body: unknown = REQUEST) {
  return session.post(body, { authorization });
}

/**
 * Without a key there is nothing to test. Who names one says that the executor needs it; one that was only found in the
 * environment may be meant for another executor, and then it is no mistake to serve everybody.
 */
async function requireKey(session: ExecutorSession): Promise<void> {
  const { target } = session.context;
  if (target.kind !== 'url' || target.token === undefined) throw new NotApplicable('no key is configured: --api-key');
  if (target.tokenFrom !== 'environment') return;
  const { status } = await postAs(session, undefined, {});
  if (status !== 401 && status !== 403) {
    throw new NotApplicable(
      'it needs no key, and that of EXECUTOR_API_KEY may be for another: --api-key says it is for it',
    );
  }
}

/** `GET /info` and keys. */
export const STANDARD_CHECKS: readonly Check<ExecutorSession>[] = [
  {
    id: 'executor.info.fields',
    title: 'GET /info answers 200 with name, version, protocolVersion and capabilities',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.levels.standard', 'tpmjs.info.fields', 'tpmjs.versioning.respond'],
    async run(session) {
      const { status, json, text } = await session.get('/info');
      expectEqual(status, 200, 'the status');
      const { name, version, protocolVersion, capabilities } = isObject(json) ? json : {};
      const texts = [name, version, protocolVersion].every((one) => typeof one === 'string' && one !== '');
      expectThat(texts && isObject(capabilities), 'three texts and capabilities', text);
    },
  },
  {
    id: 'executor.info.capabilities',
    title: 'capabilities has isolation, executionModes, maxExecutionTimeMs and maxRequestBodyBytes',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.info.isolation', 'tpmjs.info.modes', 'tpmjs.info.limits'],
    async run(session) {
      const capabilities = await session.capabilities();
      const wanted = ['isolation', 'executionModes', 'maxExecutionTimeMs', 'maxRequestBodyBytes'];
      const missing = wanted.filter((name) => capabilities[name] === undefined);
      expectThat(missing.length === 0, 'all four', `none of ${missing.join(', ')}`);
    },
  },
  {
    id: 'executor.info.isolation',
    title: 'isolation, where it is given, is one of none, process, container and vm',
    level: 'MUST',
    group,
    cites: ['tpmjs.info.isolation'],
    async run(session) {
      const { isolation } = await session.capabilities();
      const known = [undefined, 'none', 'process', 'container', 'vm'].some((level) => level === isolation);
      expectThat(known, 'none, process, container or vm', isolation);
    },
  },
  {
    id: 'executor.info.modes',
    title: 'executionModes, where it is given, is a list that has sync',
    level: 'MUST',
    group,
    cites: ['tpmjs.info.modes'],
    async run(session) {
      const { executionModes } = await session.capabilities();
      if (executionModes === undefined) throw new NotApplicable('it gives no executionModes');
      expectThat(Array.isArray(executionModes) && executionModes.includes('sync'), 'a list with sync', executionModes);
    },
  },
  {
    id: 'executor.info.limits',
    title: 'maxExecutionTimeMs and maxRequestBodyBytes, where they are given, are numbers above 0',
    level: 'MUST',
    group,
    cites: ['tpmjs.info.limits'],
    async run(session) {
      const { maxExecutionTimeMs, maxRequestBodyBytes } = await session.capabilities();
      for (const limit of [maxExecutionTimeMs, maxRequestBodyBytes]) {
        expectThat(limit === undefined || (typeof limit === 'number' && limit > 0), 'a number above 0, or none', limit);
      }
    },
  },
  {
    id: 'executor.info.reserved',
    title: 'supportsStreaming, supportsCallbacks and supportsCaching, where they are given, are booleans',
    level: 'MUST',
    group,
    cites: ['tpmjs.info.reserved'],
    async run(session) {
      const { supportsStreaming, supportsCallbacks, supportsCaching } = await session.capabilities();
      const given = [supportsStreaming, supportsCallbacks, supportsCaching];
      expectThat(
        given.every((one) => one === undefined || typeof one === 'boolean'),
        'booleans',
        given,
      );
    },
  },
  {
    id: 'executor.info.same-version',
    title: '/health and /info name the same protocol version',
    level: 'MUST',
    group,
    cites: ['tpmjs.versioning.respond'],
    async run(session) {
      const { json } = await session.get('/health');
      const { protocolVersion } = await session.info();
      expectEqual(protocolVersion, isObject(json) ? json['protocolVersion'] : undefined, 'the version of /info');
    },
  },
  {
    id: 'executor.info.preflight',
    title: 'OPTIONS /info answers 200 with the CORS headers, and GET /info has them',
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.preflight', 'tpmjs.cors.support'],
    async run(session) {
      await session.info();
      const { status, headers } = await session.preflight('/info');
      expectEqual(status, 200, 'the status');
      expectEqual(headers['access-control-allow-origin'], '*', 'Access-Control-Allow-Origin');
      expectEqual((await session.get('/info')).headers['access-control-allow-origin'], '*', 'the same of GET');
    },
  },
  {
    id: 'executor.auth.missing',
    title: 'A request without a key is 401 with UNAUTHORIZED',
    level: 'MUST',
    group,
    cites: ['tpmjs.auth.if-set', 'tpmjs.auth.unauthorized', 'tpmjs.errors.status-401', 'tpmjs.lifecycle.auth'],
    async run(session) {
      await requireKey(session);
      expectEqual(expectRefusal(await postAs(session, undefined), 401).code, 'UNAUTHORIZED', 'the code');
    },
  },
  {
    id: 'executor.auth.wrong',
    title: 'A request with a wrong key, an empty one or another scheme is 401',
    level: 'MUST',
    group,
    cites: ['tpmjs.auth.bearer', 'tpmjs.auth.if-set', 'tpmjs.errors.status-401'],
    async run(session) {
      await requireKey(session);
      for (const authorization of ['Bearer wrong', 'Bearer ', 'Bearer', '', 'Basic d3Jvbmc6d3Jvbmc=', 'wrong']) {
        expectRefusal(await postAs(session, authorization), 401);
      }
    },
  },
  {
    id: 'executor.auth.before-body',
    title: 'A request without a key is 401 whatever its body is',
    level: 'RECOMMENDED',
    reason: 'strangers need not be told what a request looks like, and their bodies need not be read',
    group,
    cites: ['tpmjs.lifecycle.auth'],
    async run(session) {
      await requireKey(session);
      for (const body of ['{', '', {}]) expectRefusal(await postAs(session, undefined, body), 401);
    },
  },
  {
    id: 'executor.auth.cors',
    title: 'A 401 has the CORS headers',
    level: 'MUST',
    group,
    cites: ['tpmjs.cors.support', 'tpmjs.auth.unauthorized'],
    async run(session) {
      await requireKey(session);
      const { headers } = await postAs(session, undefined);
      expectEqual(headers['access-control-allow-origin'], '*', 'Access-Control-Allow-Origin');
    },
  },
  {
    id: 'executor.auth.right',
    title: 'A request with the right key, or to an executor without one, is served',
    level: 'MUST',
    group,
    cites: ['tpmjs.auth.bearer', 'tpmjs.auth.if-unset'],
    async run(session) {
      const { status, text } = await session.post({ packageName: MISSING, name: 'echo' });
      expectThat(status !== 401 && status !== 403, 'no 401 or 403', `${status} ${text}`);
    },
  },
];

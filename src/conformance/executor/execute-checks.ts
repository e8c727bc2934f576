import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import {
  FACTORY,
  FACTORY_ANSWERS,
  GREETED,
  GREETING,
  NO_TOOL,
  rendering,
  UNCLOSED,
  UNCLOSED_SAYS,
} from './public-tools.js';
import { BROKEN, MISSING, TOOLS, UNSCOPED, VERSIONS } from './registry/packages.js';
import { type ExecutorSession, expectFailure, objectOf, outputOf, type ToolRequest } from './session.js';

const group = 'Core';

/** A tool of the suite that returns its params. */
const echo = (params: object): ToolRequest => ({ packageName: TOOLS, name: 'echo', params });

/** A tool of the suite that fails, in one of the ways in which tools do. */
const failing = (name: string): ToolRequest => ({ packageName: TOOLS, name, params: { message: 'Invalid input 42' } });

const whichVersion = async (session: ExecutorSession, version?: string): Promise<unknown> =>
  session.output('which', { packageName: VERSIONS, ...(version === undefined ? {} : { version }) });

/** `POST /execute-tool` that works, or fails as it should. */
export const EXECUTE_CHECKS: readonly Check<ExecutorSession>[] = [
  {
    id: 'executor.execute.success',
    title: 'A tool runs, and the answer is 200 with success, output and executionTimeMs',
    level: 'MUST',
    group,
    cites: ['tpmjs.levels.core', 'tpmjs.response.success', 'tpmjs.response.time', 'tpmjs.errors.status-200'],
    async run(session) {
      const answer = await session.post(session.choose(echo({ greeting: 'Hello' }), GREETING));
      const output = outputOf(answer);
      const { executionTimeMs } = objectOf(answer.json, 'the body');
      expectThat(output !== undefined, 'an output', answer.text);
      expectThat(typeof executionTimeMs === 'number' && executionTimeMs >= 0, 'executionTimeMs, a number', answer.text);
    },
  },
  {
    id: 'executor.execute.params',
    title: 'The params reach execute as they are',
    level: 'MUST',
    group,
    cites: ['tpmjs.request.params', 'tpmjs.lifecycle.execute'],
    async run(session) {
      const params = { text: 'é😀', number: 0.5, list: [1, [null]], deep: { a: { b: true } } };
      const request = rendering('{{text}} {{number}} {{list.0}} {{deep.a.b}}', params);
      const variables = { variablesUsed: ['text', 'number'], unusedVariables: ['list', 'deep'] };
      const wanted = session.choose<object>(params, { rendered: 'é😀 0.5 1 true', ...variables });
      expectEqual(outputOf(await session.post(session.choose(echo(params), request))), wanted, 'the output');
    },
  },
  {
    id: 'executor.execute.output',
    title: 'The output is what execute returned',
    level: 'MUST',
    group,
    cites: ['tpmjs.response.output'],
    async run(session) {
      const wanted = { integer: 42, fraction: 0.5, nothing: null, yes: true, text: 'é😀', list: [1, [2]], empty: {} };
      const answer = await session.post(session.choose({ packageName: TOOLS, name: 'numbers' }, GREETING));
      expectEqual(outputOf(answer), session.choose<object>(wanted, GREETED), 'the output');
    },
  },
  {
    id: 'executor.execute.no-params',
    title: 'params may be left out',
    level: 'MUST',
    group,
    cites: ['tpmjs.request.params'],
    async run(session) {
      const { got } = objectOf(await session.output('plain'), 'the output');
      const none = got === null || (typeof got === 'object' && Object.keys(got).length === 0);
      expectThat(none, 'no params, or empty ones', got);
    },
  },
  {
    id: 'executor.execute.no-output',
    title: 'A tool that returns nothing is a success with an output of null',
    level: 'RECOMMENDED',
    reason: 'the field is required of a success, and JSON has no undefined',
    group,
    cites: ['tpmjs.response.output'],
    async run(session) {
      expectEqual(await session.output('nothing'), null, 'the output');
    },
  },
  {
    id: 'executor.execute.latest',
    title: 'Without a version the latest one runs',
    level: 'MUST',
    group,
    cites: ['tpmjs.request.version', 'tpmjs.lifecycle.install'],
    async run(session) {
      expectEqual(await whichVersion(session), '1.2.0', 'the version that ran');
      expectEqual(await whichVersion(session, 'latest'), '1.2.0', 'the version that ran');
    },
  },
  {
    id: 'executor.execute.exact-version',
    title: 'An exact version is the one that runs',
    level: 'MUST',
    group,
    cites: ['tpmjs.request.version', 'tpmjs.lifecycle.install'],
    async run(session) {
      expectEqual(await whichVersion(session, '1.0.0'), '1.0.0', 'the version that ran');
    },
  },
  {
    id: 'executor.execute.tag-and-range',
    title: 'A tag or a range is resolved as npm does',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.request.version', 'tpmjs.lifecycle.install'],
    async run(session) {
      expectEqual(await whichVersion(session, 'beta'), '2.0.0-beta.1', 'the version for beta');
      expectEqual(await whichVersion(session, '~1.0.0'), '1.0.0', 'the version for ~1.0.0');
    },
  },
  {
    id: 'executor.execute.unscoped',
    title: 'A package may have a scope or none',
    level: 'MUST',
    group,
    cites: ['tpmjs.request.package'],
    async run(session) {
      const answer = await session.post(session.choose({ packageName: UNSCOPED, name: 'which' }, FACTORY));
      expectEqual(outputOf(answer), session.choose<unknown>('unscoped', FACTORY_ANSWERS), 'the output');
    },
  },
  {
    id: 'executor.execute.env',
    title: 'The variables of env are in the environment of the tool',
    level: 'MUST',
    group,
    cites: ['tpmjs.request.env', 'tpmjs.lifecycle.execute'],
    async run(session) {
      const env = { CONFORMANCE_KEY: 'sk-é', CONFORMANCE_EMPTY: '' };
      const output = await session.output('environment', { params: { names: Object.keys(env) }, env });
      expectEqual(output, env, 'the output');
    },
  },
  {
    id: 'executor.execute.env-stays',
    title: 'The variables of one request are not in the environment of the next',
    level: 'RECOMMENDED',
    reason: 'they are the keys of whoever sent them',
    group,
    cites: ['tpmjs.lifecycle.isolate'],
    async run(session) {
      const params = { names: ['CONFORMANCE_SECRET'] };
      await session.output('environment', { params, env: { CONFORMANCE_SECRET: 'mine' } });
      expectEqual(await session.output('environment', { params }), { CONFORMANCE_SECRET: null }, 'the output');
    },
  },
  {
    id: 'executor.execute.extra-fields',
    title: 'Fields that the protocol does not know are ignored',
    level: 'RECOMMENDED',
    reason: 'later versions have more',
    group,
    cites: [],
    async run(session) {
      const answer = await session.post({ ...session.choose(echo({ a: 1 }), GREETING), traceId: 'x' });
      expectEqual(outputOf(answer), session.choose<object>({ a: 1 }, GREETED), 'the output');
    },
  },
  {
    id: 'executor.execute.version-header',
    title: 'A request with X-TPMJS-Protocol-Version: 1.0 is served, and one without it',
    level: 'MUST',
    group,
    cites: ['tpmjs.versioning.header'],
    async run(session) {
      const body = session.choose(echo({ a: 1 }), GREETING);
      for (const headers of [{ 'x-tpmjs-protocol-version': '1.0' }, {}]) {
        const answer = await session.post(body, headers);
        expectEqual(outputOf(answer), session.choose<object>({ a: 1 }, GREETED), 'the output');
      }
    },
  },
  {
    id: 'executor.execute.tool-error',
    title: 'A tool that throws is 200 with success: false and TOOL_EXECUTION_ERROR, and says why',
    level: 'MUST',
    group,
    cites: ['tpmjs.codes.tool-error', 'tpmjs.response.error', 'tpmjs.errors.status-200', 'tpmjs.errors.structured'],
    async run(session) {
      const says = session.choose('Invalid input 42', UNCLOSED_SAYS);
      for (const request of session.choose([failing('fails'), failing('failsAtOnce')], [UNCLOSED])) {
        const answer = await session.post(request);
        const { message } = expectFailure(answer, 'TOOL_EXECUTION_ERROR');
        expectThat(message.includes(says), `a message with “${says}”`, answer.text);
      }
    },
  },
  {
    id: 'executor.execute.odd-error',
    title: 'A tool that throws something that is no error fails all the same',
    level: 'MUST',
    group,
    cites: ['tpmjs.codes.tool-error', 'tpmjs.response.error'],
    async run(session) {
      expectFailure(await session.tool('failsOddly'), 'TOOL_EXECUTION_ERROR');
    },
  },
  {
    id: 'executor.execute.failed-time',
    title: 'A failed execution has its executionTimeMs, too',
    level: 'MUST',
    group,
    cites: ['tpmjs.response.time'],
    async run(session) {
      const { json, text } = await session.post(session.choose(failing('fails'), UNCLOSED));
      expectThat(typeof objectOf(json, 'the body')['executionTimeMs'] === 'number', 'executionTimeMs', text);
    },
  },
  {
    id: 'executor.execute.package-not-found',
    title: 'A package that is not there is PACKAGE_NOT_FOUND',
    level: 'MUST',
    group,
    cites: ['tpmjs.codes.package-not-found', 'tpmjs.errors.status-200'],
    async run(session) {
      expectFailure(await session.post({ packageName: MISSING, name: 'echo' }), 'PACKAGE_NOT_FOUND');
    },
  },
  {
    id: 'executor.execute.version-not-found',
    title: 'A version that is not there is PACKAGE_NOT_FOUND',
    level: 'MUST',
    group,
    cites: ['tpmjs.codes.package-not-found', 'tpmjs.request.version'],
    async run(session) {
      const request = { ...session.choose(echo({}), GREETING), version: '99.0.0' };
      expectFailure(await session.post(request), 'PACKAGE_NOT_FOUND');
    },
  },
  {
    id: 'executor.execute.tool-not-found',
    title: 'An export that is not there is TOOL_NOT_FOUND',
    level: 'MUST',
    group,
    cites: ['tpmjs.codes.tool-not-found', 'tpmjs.request.name'],
    async run(session) {
      const request = { ...session.choose(echo({}), GREETING), name: 'isNotThere' };
      expectFailure(await session.post(request), 'TOOL_NOT_FOUND');
    },
  },
  {
    id: 'executor.execute.inherited-names',
    title: 'Names that every object has are no exports',
    level: 'RECOMMENDED',
    reason: 'a lookup that finds them runs what no author exported',
    group,
    cites: ['tpmjs.codes.tool-not-found'],
    async run(session) {
      for (const name of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
        expectFailure(await session.post({ ...session.choose(echo({}), GREETING), name }), 'TOOL_NOT_FOUND');
      }
    },
  },
  {
    id: 'executor.execute.tool-invalid',
    title: 'An export without execute is TOOL_INVALID',
    level: 'MUST',
    group,
    cites: ['tpmjs.codes.tool-invalid', 'tpmjs.resolution.execute'],
    async run(session) {
      const ofTheSuite = ['hollow', 'text', 'hollowFactory'].map((name): ToolRequest => ({ packageName: TOOLS, name }));
      for (const request of session.choose(ofTheSuite, [NO_TOOL])) {
        expectFailure(await session.post(request), 'TOOL_INVALID');
      }
    },
  },
  {
    id: 'executor.execute.broken-package',
    title: 'A package that throws while it is loaded is a structured failure with 200',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.codes.tool-error', 'tpmjs.errors.status-200'],
    async run(session) {
      expectFailure(await session.tool('echo', { packageName: BROKEN }), 'TOOL_EXECUTION_ERROR');
    },
  },
  {
    id: 'executor.execute.cyclic',
    title: 'An output that JSON cannot say is TOOL_EXECUTION_ERROR',
    level: 'RECOMMENDED',
    reason: 'the text leaves it open; a tool that returns it is at fault, not the executor',
    group,
    cites: [],
    async run(session) {
      expectFailure(await session.tool('cyclic'), 'TOOL_EXECUTION_ERROR');
    },
  },
];

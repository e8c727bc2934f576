import { type Check, NotApplicable } from '../check.js';
import { expectThat } from '../expect.js';
import { TOOLS } from './registry/packages.js';
import { type ExecutorSession, errorOf, expectRefusal } from './session.js';

const group = 'Core';
/** What a check may send to find out whether it is refused. */
const LARGEST_BODY_BYTES = 200_000_000;
const JSON_BODY = { 'content-type': 'application/json' };

interface Bad {
  readonly name: string;
  readonly title: string;
  readonly level: 'MUST' | 'SHOULD';
  readonly cites: readonly string[];
  /** Each of them is refused. */
  readonly bodies: readonly unknown[];
}

const whole = { packageName: TOOLS, name: 'echo' };
const FIELDS = ['tpmjs.errors.status-400', 'tpmjs.lifecycle.validate'];

const BAD: readonly Bad[] = [
  {
    name: 'malformed',
    title: 'A body that is no JSON is 400',
    level: 'MUST',
    cites: FIELDS,
    bodies: ['{"packageName": ', 'hello', '{packageName: 1}'],
  },
  { name: 'empty', title: 'An empty body is 400', level: 'MUST', cites: FIELDS, bodies: [''] },
  {
    name: 'no-object',
    title: 'A body that is no object is 400',
    level: 'MUST',
    cites: FIELDS,
    bodies: ['null', '[]', '"text"', '7'],
  },
  {
    name: 'no-package',
    title: 'A request without packageName is 400',
    level: 'MUST',
    cites: [...FIELDS, 'tpmjs.request.package'],
    bodies: [{ name: 'echo' }, {}, { packageName: '', name: 'echo' }, { packageName: null, name: 'echo' }],
  },
  {
    name: 'no-name',
    title: 'A request without name is 400',
    level: 'MUST',
    cites: [...FIELDS, 'tpmjs.request.name'],
    bodies: [{ packageName: TOOLS }, { packageName: TOOLS, name: '' }, { packageName: TOOLS, name: 7 }],
  },
  {
    name: 'package-type',
    title: 'A packageName that is no text is 400',
    level: 'MUST',
    cites: [...FIELDS, 'tpmjs.request.package'],
    bodies: [
      { ...whole, packageName: 7 },
      { ...whole, packageName: ['a'] },
    ],
  },
  {
    name: 'version-type',
    title: 'A version that is no text is 400',
    level: 'SHOULD',
    cites: [...FIELDS, 'tpmjs.request.version'],
    bodies: [{ ...whole, version: 1 }],
  },
  {
    name: 'params-type',
    title: 'params that are no object are 400',
    level: 'SHOULD',
    cites: [...FIELDS, 'tpmjs.request.params'],
    bodies: [
      { ...whole, params: [1] },
      { ...whole, params: 'text' },
    ],
  },
  {
    name: 'env-type',
    title: 'An env that is no object of texts is 400',
    level: 'SHOULD',
    cites: [...FIELDS, 'tpmjs.request.env'],
    bodies: [
      { ...whole, env: 'A=1' },
      { ...whole, env: { A: {} } },
    ],
  },
];

const NO_NAMES = [
  '../tools',
  '/etc/passwd',
  'file:/etc',
  'git+ssh://example.com/a',
  'http://example.com/a.tgz',
  '--help',
  'a b',
  'a;b',
  '$(a)',
];

/** Requests that cannot be served. */
export const REQUEST_CHECKS: readonly Check<ExecutorSession>[] = [
  ...BAD.map(
    ({ name, title, level, cites, bodies }): Check<ExecutorSession> => ({
      id: `executor.request.${name}`,
      title: `${title}, with a structured error`,
      level,
      group,
      cites: [...cites, 'tpmjs.errors.structured'],
      async run(session) {
        for (const body of bodies) expectRefusal(await session.post(body, JSON_BODY), 400);
      },
    }),
  ),
  {
    id: 'executor.request.no-package-name',
    title: 'Paths, addresses, flags and what a shell would take apart are no package names',
    level: 'RECOMMENDED',
    reason: 'npm installs from all of them, and a shell runs some: names come from strangers',
    group,
    cites: ['tpmjs.request.package'],
    async run(session) {
      for (const packageName of NO_NAMES) {
        const answer = await session.post({ packageName, name: 'echo' });
        errorOf(answer);
        expectThat([200, 400].includes(answer.status), 'status 400, or 200 with an error', `${answer.status}`);
      }
    },
  },
  {
    id: 'executor.request.unknown-endpoint',
    title: 'An unknown endpoint is 404, with a structured error',
    level: 'MUST',
    group,
    cites: ['tpmjs.errors.status-404', 'tpmjs.errors.structured'],
    async run(session) {
      expectRefusal(await session.get('/no-such-endpoint'), 404);
      expectRefusal(await session.call({ method: 'POST', path: '/execute-tools', body: whole }), 404);
    },
  },
  {
    id: 'executor.request.wrong-method',
    title: 'A known endpoint with another method is refused, with a structured error',
    level: 'RECOMMENDED',
    reason: 'the text says it of every error; 404 and 405 both tell the client what is wrong',
    group,
    cites: ['tpmjs.errors.structured'],
    async run(session) {
      const answer = await session.get('/execute-tool');
      expectThat([404, 405].includes(answer.status), 'status 404 or 405', `${answer.status} ${answer.text}`);
      errorOf(answer);
    },
  },
  {
    id: 'executor.request.too-large',
    title: 'A body beyond maxRequestBodyBytes is refused, and the executor serves on',
    level: 'SHOULD',
    group,
    cites: ['tpmjs.info.limits'],
    async run(session) {
      const { maxRequestBodyBytes } = await session.capabilities();
      if (typeof maxRequestBodyBytes !== 'number') throw new NotApplicable('it gives no maxRequestBodyBytes');
      const size = maxRequestBodyBytes + 1_000_000;
      if (size > LARGEST_BODY_BYTES)
        throw new NotApplicable(`its limit is ${maxRequestBodyBytes} bytes: too many to send`);
      const body = JSON.stringify({ ...whole, params: { text: 'x'.repeat(size) } });
      // The answer may come before all of the body was taken, and the connection go with it.
      const answer = await session.post(body, JSON_BODY).catch(() => undefined);
      if (answer !== undefined)
        expectThat(answer.status >= 400, 'a refusal', `${answer.status} ${answer.text.slice(0, 200)}`);
      expectThat((await session.get('/health')).status === 200, 'an executor that serves on', 'none');
    },
  },
];

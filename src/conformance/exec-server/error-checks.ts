import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import type { ExecClient } from './client.js';
import { type ExecSession, inEach } from './session.js';

const group = 'Errors';
const CODES = [-32600, -32602, -32603];
const LATER_CODES = [...CODES, -32601, -32004, -32010];

/** Parameters that do not fit, by the field that is wrong. */
function misfits(client: ExecClient): readonly (readonly [string, string, unknown])[] {
  const start = client.startParams('p', 'exit 0');
  const without = (name: string): JsonObject =>
    Object.fromEntries(Object.entries(start).filter(([key]) => key !== name));
  return [
    ['processId', 'process/start', without('processId')],
    ['processId', 'process/start', { ...start, processId: 5 }],
    ['argv', 'process/start', { ...start, argv: 'ls' }],
    ['argv', 'process/start', { ...start, argv: ['ls', 5] }],
    ['cwd', 'process/start', without('cwd')],
    ['env', 'process/start', { ...start, env: { A: 1 } }],
    ['tty', 'process/start', { ...start, tty: 'yes' }],
    ['processId', 'process/read', {}],
    ['afterSeq', 'process/read', { processId: 'p', afterSeq: 'x' }],
    ['processId', 'process/write', { chunk: 'eA==', writeId: 'w' }],
    ['processId', 'process/terminate', { processId: ['p'] }],
  ];
}

/** What is refused, and how. */
export const ERROR_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.errors.unknown-method',
    title: 'An unknown method is answered with an error',
    level: 'MUST',
    group,
    cites: ['exec-server.errors.unknown-method'],
    run: inEach(async (client) => {
      for (const method of ['no/such/method', 'toString', '']) {
        await client.refusal(method, {}, `the method ${JSON.stringify(method)} to be refused`);
      }
    }),
  },
  {
    id: 'exec-server.errors.malformed-params',
    title: 'Params that do not fit are refused with -32602',
    level: 'MUST',
    group,
    cites: ['exec-server.errors.malformed-params', 'exec-server.errors.codes'],
    run: inEach(async (client) => {
      for (const [field, method, params] of misfits(client)) {
        const expected = `${method} with a wrong ${field} to be refused with -32602`;
        const { code } = await client.refusal(method, params, expected);
        expectThat(code === -32602, expected, `code ${code}`);
      }
    }),
  },
  {
    id: 'exec-server.errors.codes',
    title: 'Errors have one of the codes of the text (and of the later dialect: -32601, -32004, -32010)',
    level: 'MUST',
    group,
    cites: ['exec-server.errors.codes'],
    run: inEach(async (client) => {
      const known = client.dialect === 'first' ? CODES : LATER_CODES;
      const cases: [string, unknown][] = [
        ['no/such/method', {}],
        ['process/start', {}],
        ['process/start', client.startParams('p', '', { argv: [] })],
        ['process/start', client.startParams('p', '', { argv: ['/no/such/program'] })],
        ['process/start', client.startParams('p', 'exit 0', { cwd: '/no/such/folder' })],
        ['process/read', { processId: 'nobody', afterSeq: 0 }],
        ['initialize', client.initializeParams()],
      ];
      for (const [method, params] of cases) {
        // What is refused is for other checks to say.
        const { error } = await client.call(method, params);
        const fits = !isObject(error) || known.some((one) => one === error['code']);
        expectThat(fits, `one of the codes ${known.join(', ')}`, error);
      }
    }),
  },
  {
    id: 'exec-server.errors.which-code',
    title: 'Errors have the codes of the original',
    level: 'RECOMMENDED',
    reason: 'the text lists codes and cases and leaves open which is which; clients tell cases apart by the code',
    group,
    cites: ['exec-server.errors.codes'],
    run: inEach(async (client) => {
      const first = client.dialect === 'first';
      await client.start('taken', 'read line', { tty: true });
      const cases: [number, string, unknown][] = [
        [first ? -32600 : -32601, 'no/such/method', {}],
        [-32600, 'process/start', client.startParams('taken', 'exit 0')],
        [-32602, 'process/start', client.startParams('p', '', { argv: [] })],
        [-32603, 'process/start', client.startParams('p', '', { argv: ['/no/such/program'] })],
        [-32600, 'process/read', { processId: 'nobody', afterSeq: 0 }],
        [-32600, 'initialize', client.initializeParams()],
      ];
      if (first) cases.push([-32600, 'process/write', { processId: 'nobody', chunk: 'eA==' }]);
      for (const [code, method, params] of cases) {
        const refusal = await client.refusal(method, params, `${method} to be refused with ${code}`);
        expectEqual(refusal.code, code, `the code of the refusal of ${method} with ${JSON.stringify(params)}`);
      }
    }),
  },
  {
    id: 'exec-server.errors.go-on',
    title: 'After an error the connection goes on',
    level: 'RECOMMENDED',
    reason: 'one bad request of a model must not end its other processes',
    group,
    cites: ['exec-server.errors.codes'],
    run: inEach(async (client) => {
      await client.call('no/such/method', {});
      for (const [, method, params] of misfits(client)) await client.call(method, params);
      await client.call('process/start', client.startParams('p', '', { argv: ['/no/such/program'] }));
      expectEqual((await client.run('q', 'exit 3')).code, 3, 'the exit code of a process afterwards');
    }),
  },
];

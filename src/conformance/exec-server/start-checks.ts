import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { PATH } from './client.js';
import { type ExecSession, inEach } from './session.js';
import { FOREVER } from './shell.js';

const group = 'Start';
const KINDS = [
  { name: 'pipes', tty: false },
  { name: 'a terminal', tty: true },
] as const;

/** What `process/start` does with its fields. */
export const START_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.start.answer',
    title: 'process/start is answered with the processId, while the process runs',
    level: 'MUST',
    group,
    cites: ['exec-server.start.request', 'exec-server.start.response', 'exec-server.start.exit-async'],
    run: inEach(async (client) => {
      const result = await client.start('my process', FOREVER);
      expectEqual(result['processId'], 'my process', 'the processId of the answer');
    }),
  },
  {
    id: 'exec-server.start.argv',
    title: 'argv is a vector: every word arrives as it was sent, and no shell reads it',
    level: 'MUST',
    group,
    cites: ['exec-server.start.argv'],
    run: inEach(async (client) => {
      const words = ['two words', '$HOME', '', '*', '"quoted"', "it's", 'ünï', '-x', 'line\nend'];
      const argv = ['/bin/sh', '-c', 'for word; do printf "%s|" "$word"; done', 'sh', ...words];
      await client.prints('p', '', `${words.join('|')}|`, 'the words that arrived', { argv });
    }),
  },
  {
    id: 'exec-server.start.empty-argv',
    title: 'An empty argv is refused',
    level: 'MUST',
    group,
    cites: ['exec-server.start.argv-non-empty', 'exec-server.errors.empty-argv'],
    run: inEach(async (client) => {
      const params = client.startParams('p', '', { argv: [] });
      await client.refusal('process/start', params, 'an empty argv to be refused');
    }),
  },
  {
    id: 'exec-server.start.path-lookup',
    title: 'A program without a slash is looked up in the PATH of env',
    level: 'RECOMMENDED',
    reason: 'the examples start bash by its name and send a PATH',
    group,
    cites: ['exec-server.example'],
    run: inEach(async (client) => {
      for (const { name, tty } of KINDS) {
        const { code } = await client.run(name, '', { argv: ['sh', '-c', 'exit 6'], tty });
        expectEqual(code, 6, `the exit code of sh on ${name}`);
      }
    }),
  },
  {
    id: 'exec-server.start.cwd',
    title: 'The process runs in cwd',
    level: 'MUST',
    group,
    cites: ['exec-server.start.cwd'],
    run: inEach(async (client) => {
      for (const { name, tty } of KINDS) {
        await client.prints(name, 'printf %s "$(pwd -P)"', '/usr', `the working directory on ${name}`, {
          cwd: '/usr',
          tty,
        });
      }
    }),
  },
  {
    id: 'exec-server.start.cwd-relative',
    title: 'A cwd that is not absolute is refused',
    level: 'MUST',
    group,
    cites: ['exec-server.start.cwd', 'exec-server.errors.malformed-params'],
    run: inEach(async (client) => {
      const params = { ...client.startParams('p', 'exit 0'), cwd: 'usr' };
      await client.refusal('process/start', params, 'the cwd "usr" to be refused');
    }),
  },
  {
    id: 'exec-server.start.cwd-missing',
    title: 'A cwd that does not exist is refused, on pipes and on a terminal',
    level: 'RECOMMENDED',
    reason: 'a command that runs somewhere else than it was told to does harm there',
    group,
    cites: ['exec-server.start.cwd'],
    run: inEach(async (client) => {
      for (const { name, tty } of KINDS) {
        const params = client.startParams(name, 'exit 0', { cwd: '/no/such/folder', tty });
        await client.refusal('process/start', params, `the cwd /no/such/folder to be refused on ${name}`);
      }
    }),
  },
  {
    id: 'exec-server.start.env',
    title: 'The variables of env reach the process',
    level: 'MUST',
    group,
    cites: ['exec-server.start.env'],
    run: inEach(async (client) => {
      const env = { PATH, ONE: 'a b', TWO: '$ONE=ü', EMPTY: '' };
      for (const { name, tty } of KINDS) {
        const script = `printf "%s|%s|%s" "$ONE" "$TWO" "\${EMPTY-unset}"`;
        await client.prints(name, script, 'a b|$ONE=ü|', `the variables on ${name}`, { env, tty });
      }
    }),
  },
  {
    id: 'exec-server.start.env-exact',
    title: 'A process has no variables but those of env, and PWD, which says nothing that the client did not',
    level: 'RECOMMENDED',
    reason: 'what a server inherits are its own secrets',
    group,
    cites: ['exec-server.start.env'],
    run: inEach(async (client) => {
      const { output } = await client.run('p', '', { argv: ['/usr/bin/env'], env: { ONLY: 'this' } });
      const names = output
        .trim()
        .split('\n')
        .filter((line) => !line.startsWith('PWD='));
      expectEqual(names, ['ONLY=this'], 'the output of env, but for PWD');
    }),
  },
  {
    id: 'exec-server.start.tty',
    title: 'With tty the process has a terminal as input, output and error',
    level: 'MUST',
    group,
    cites: ['exec-server.start.tty-true'],
    run: inEach(async (client) => {
      const { code } = await client.run('p', '[ -t 0 ] && [ -t 1 ] && [ -t 2 ]', { tty: true });
      expectEqual(code, 0, 'the exit code of a test for a terminal');
    }),
  },
  {
    id: 'exec-server.start.pipes',
    title: 'Without tty the process has pipes, and its stdin is closed: a reader is at the end at once',
    level: 'MUST',
    group,
    cites: ['exec-server.start.tty-false', 'exec-server.start.pipe-stdin'],
    run: inEach(async (client) => {
      const script = '[ -t 0 ] || [ -t 1 ] || [ -t 2 ] || echo none; cat; echo end';
      await client.prints('p', script, 'none\nend\n', 'the output of a test for a terminal and of cat');
    }),
  },
  {
    id: 'exec-server.start.arg0',
    title: 'arg0 replaces argv[0] that the program sees, and not which program runs',
    level: 'MUST',
    group,
    cites: ['exec-server.start.arg0'],
    run: inEach(async (client) => {
      for (const { name, tty } of KINDS) {
        const script = 'printf %s "$0"';
        await client.prints(name, script, '/no/such/sh', `argv[0] on ${name}`, { tty, arg0: '/no/such/sh' });
        await client.prints(`${name}, plain`, script, '/bin/sh', `argv[0] on ${name} without arg0`, { tty });
      }
    }),
  },
  {
    id: 'exec-server.start.duplicate-id',
    title: 'A processId that is in use is refused, and its process runs on',
    level: 'MUST',
    group,
    cites: ['exec-server.start.unique-id', 'exec-server.errors.duplicate-id'],
    run: inEach(async (client) => {
      await client.start('same', 'echo up; read line; exit 8', { tty: true });
      await client.shows('same', 'up');
      await client.refusal('process/start', client.startParams('same', 'exit 0'), 'the second start to be refused');
      await client.writes('same', '\n');
      expectEqual(await client.exited('same'), 8, 'the exit code of the first process');
    }),
  },
  {
    id: 'exec-server.start.id-per-connection',
    title: 'Two connections can use the same processId, and neither sees the process of the other',
    level: 'MUST',
    group,
    cites: ['exec-server.start.unique-id'],
    run: inEach(async (client, session) => {
      const other = await session.open(client.dialect);
      await client.start('same', 'echo one; read line', { tty: true });
      await client.shows('same', 'one');
      await other.prints('same', 'echo two', 'two\n', 'the output on the second connection');
      expectEqual(await other.terminate('only mine'), { running: false }, 'the answer about an id of nobody');
      await client.writes('same', '\n');
      expectThat(!(await client.shows('same', 'one')).includes('two'), 'no output of the other', 'there is some');
    }),
  },
  {
    id: 'exec-server.start.any-id',
    title: 'Any string is a processId',
    level: 'RECOMMENDED',
    reason: 'the client chooses it; names such as __proto__ or ../x mean nothing to a server that treats ids as ids',
    group,
    cites: ['exec-server.start.unique-id'],
    run: inEach(async (client) => {
      for (const id of ['__proto__', '../ünï "code"', 'x'.repeat(200)]) {
        expectEqual((await client.run(id, 'exit 9')).code, 9, `the exit code of ${id}`);
      }
    }),
  },
  {
    id: 'exec-server.start.missing-program',
    title: 'A program that does not exist is refused, and does not take the processId',
    level: 'RECOMMENDED',
    reason: 'a start that failed left nothing to read, and a client tries again under the same id',
    group,
    cites: [],
    run: inEach(async (client) => {
      for (const { name, tty } of KINDS) {
        const params = client.startParams(name, '', { argv: ['/no/such/program'], tty });
        await client.refusal('process/start', params, `/no/such/program to be refused on ${name}`);
        expectEqual((await client.run(name, 'exit 2', { tty })).code, 2, `the exit code of another try on ${name}`);
      }
    }),
  },
  {
    id: 'exec-server.start.many',
    title: 'Many processes run at once, each with its own output and exit',
    level: 'RECOMMENDED',
    reason: 'ids exist so that there can be more than one',
    group,
    cites: ['exec-server.start.unique-id'],
    run: inEach(async (client) => {
      const ids = Array.from({ length: 8 }, (_, index) => `p${index}`);
      const sent = ids.map((id, index) =>
        client.request('process/start', client.startParams(id, `echo ${id}; sleep 0.1; exit ${index}`)),
      );
      for (const id of sent) await client.answer(id, 'process/start');
      for (const [index, id] of ids.entries()) {
        expectEqual(await client.finished(id), index, `the exit code of ${id}`);
        expectEqual(client.output(id).toString(), `${id}\n`, `the output of ${id}`);
      }
    }),
  },
];

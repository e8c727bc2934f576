import type { Check } from '../check.js';
import { expectEqual, expectThat } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import { PATH } from './client.js';
import { AFTERWARDS_MS } from './limits.js';
import { type ExecSession, inLater } from './session.js';
import { AWAKE, FOREVER } from './shell.js';

const group = 'Later dialect';
const level = 'RECOMMENDED';
const cites: readonly string[] = [];
const NEEDED = 'the text is older than this dialect, and its clients cannot do without';

const isOutput = ({ method }: JsonObject): boolean => method === 'process/output';

/** What the later dialect does differently. */
export const LATER_CHECKS: readonly Check<ExecSession>[] = [
  {
    id: 'exec-server.later.file-uris',
    title: 'Paths are file: URIs; a plain path is refused with -32602',
    level,
    reason: 'a path that is taken both ways means two things as soon as it holds a %',
    group,
    cites,
    run: inLater(async (client) => {
      await client.result('process/start', { ...client.startParams('p', 'pwd -P'), cwd: 'file:///%75sr' });
      await client.finished('p');
      expectEqual(client.output('p').toString(), '/usr\n', 'the working directory');
      const plain = { ...client.startParams('q', 'exit 0'), cwd: '/usr' };
      const { code } = await client.refusal('process/start', plain, 'a plain path to be refused');
      expectEqual(code, -32602, 'the code');
    }),
  },
  {
    id: 'exec-server.later.sandbox-type',
    title: 'The answer to process/start names the sandboxType, or null',
    level,
    reason: NEEDED,
    group,
    cites,
    run: inLater(async (client) => {
      const result = await client.start('p', FOREVER);
      const { sandboxType } = result;
      expectThat(sandboxType === null || typeof sandboxType === 'string', 'a sandboxType', result);
    }),
  },
  {
    id: 'exec-server.later.pipe-stdin',
    title: 'With pipeStdin a process on pipes takes writes',
    level,
    reason: NEEDED,
    group,
    cites,
    run: inLater(async (client) => {
      await client.start('p', 'read line; echo "got:$line"', { pipeStdin: true });
      await client.writes('p', 'hello\n');
      await client.finished('p');
      expectEqual(client.output('p', 'stdout').toString(), 'got:hello\n', 'the output');
    }),
  },
  {
    id: 'exec-server.later.write-id',
    title: 'process/write needs a writeId',
    level,
    reason: 'without it a write that is sent again after a lost connection would be written twice',
    group,
    cites,
    run: inLater(async (client) => {
      await client.start('p', 'exec cat', { pipeStdin: true });
      const params = { processId: 'p', chunk: 'eA==' };
      const { code } = await client.refusal('process/write', params, 'a write without writeId to be refused');
      expectEqual(code, -32602, 'the code');
    }),
  },
  {
    id: 'exec-server.later.write-once',
    title: 'A write that is repeated under its writeId is acknowledged and not written twice',
    level,
    reason: 'that is what the writeId is for',
    group,
    cites,
    run: inLater(async (client) => {
      await client.start('p', 'exec cat', { pipeStdin: true });
      for (const [writeId, text] of [
        ['a', 'one '],
        ['a', 'one '],
        ['b', 'two.'],
      ] as const) {
        const chunk = Buffer.from(text).toString('base64');
        const result = await client.result('process/write', { processId: 'p', writeId, chunk });
        expectEqual(result, { status: 'accepted' }, 'the result of process/write');
      }
      expectEqual(await client.shows('p', 'two.'), 'one two.', 'what was written');
    }),
  },
  {
    id: 'exec-server.later.seq',
    title: 'process/output, process/exited and process/closed carry seq from one counter without gaps',
    level,
    reason: 'a client that was away finds out by the numbers what it missed',
    group,
    cites,
    run: inLater(async (client) => {
      await client.run('p', 'echo out; echo err >&2; exit 3');
      const numbers = client.notes('p').map(({ params }) => (isObject(params) ? params['seq'] : undefined));
      expectEqual(
        numbers,
        numbers.map((_, index) => index + 1),
        'the numbers of the notifications',
      );
    }),
  },
  {
    id: 'exec-server.later.closed',
    title: 'process/closed comes last, after the exit and after the output of whoever holds the streams',
    level,
    reason: 'it is the only word in this dialect that says the output is complete',
    group,
    cites,
    run: inLater(async (client) => {
      await client.start('p', '(sleep 0.4; echo late) & echo now');
      await client.notification('process/closed', 'p');
      // A target may end what a process leaves behind; then nothing is late.
      const late = client.output('p').toString() !== 'now\n';
      if (late) expectEqual(client.output('p').toString(), 'now\nlate\n', 'the output before process/closed');
      else await client.peer.quiet('no output after process/closed', isOutput, AFTERWARDS_MS);
      expectEqual(client.notes('p').at(-1)?.['method'], 'process/closed', 'the last notification');
      const exits = client.notes('p').filter(({ method }) => method === 'process/exited');
      expectEqual(exits.length, 1, 'the number of process/exited before process/closed');
    }),
  },
  {
    id: 'exec-server.later.sandbox-denied',
    title: 'process/exited says whether a sandbox denied something',
    level,
    reason: 'clients refuse an exit without sandboxDenied',
    group,
    cites,
    run: inLater(async (client) => {
      await client.run('p', 'exit 0');
      const { params } = await client.notification('process/exited', 'p');
      expectEqual(isObject(params) ? params['sandboxDenied'] : undefined, false, 'sandboxDenied');
    }),
  },
  {
    id: 'exec-server.later.read-fields',
    title: 'process/read also answers closed, failure and sandboxDenied',
    level,
    reason: NEEDED,
    group,
    cites,
    run: inLater(async (client) => {
      await client.start('p', 'read line', { pipeStdin: true });
      const fields = async () => {
        const { closed, failure, sandboxDenied } = await client.read('p');
        return { closed, failure, sandboxDenied };
      };
      expectEqual(await fields(), { closed: false, failure: null, sandboxDenied: false }, 'the fields while it runs');
      await client.writes('p', '\n');
      await client.finished('p');
      expectEqual(await fields(), { closed: true, failure: null, sandboxDenied: false }, 'the fields afterwards');
    }),
  },
  {
    id: 'exec-server.later.interrupt',
    title: 'process/signal interrupts a process, and answers {} for one that is not there, too',
    level,
    reason: NEEDED,
    group,
    cites,
    run: inLater(async (client) => {
      await client.start('p', `trap 'exit 12' INT; echo up; ${AWAKE}`);
      await client.shows('p', 'up');
      for (const processId of ['p', 'nobody']) {
        expectEqual(await client.result('process/signal', { processId, signal: 'interrupt' }), {}, 'the result');
      }
      expectEqual(await client.exited('p'), 12, 'the exit code');
    }),
  },
  {
    id: 'exec-server.later.env-policy',
    title: 'envPolicy builds the environment: inherited variables, then set, then env',
    level,
    reason: 'clients send a policy instead of the variables of a machine that they do not know',
    group,
    cites,
    run: inLater(async (client) => {
      const rest = { ignoreDefaultExcludes: false, exclude: [], includeOnly: [] };
      const set = { A: 'set', B: 'set', PATH };
      const script = `printf "%s|%s|%s" "$A" "$B" "\${HOME-none}"`;
      const none = { inherit: 'none', set, ...rest };
      const { output } = await client.run('none', script, { env: { A: 'env' }, envPolicy: none });
      expectEqual(output, 'env|set|none', 'A, B and HOME with inherit none');
      const core = { inherit: 'core', set: {}, ...rest };
      const inherited = await client.run('core', '[ -n "$PATH" ]', { env: {}, envPolicy: core });
      expectEqual(inherited.code, 0, 'the exit code of a test for PATH with inherit core');
    }),
  },
  {
    id: 'exec-server.later.environment',
    title: 'environment/info names the shell, the folder and the capabilities; environment/status says ready',
    level,
    reason: 'clients ask for both before they start anything',
    group,
    cites,
    run: inLater(async (client) => {
      const info = await client.result('environment/info', null);
      const { shell, cwd, capabilities } = info;
      const named = isObject(shell) && typeof shell['name'] === 'string' && String(shell['path']).startsWith('/');
      expectThat(named, 'a shell with a name and a path', info);
      expectThat(String(cwd).startsWith('file:///'), 'the folder as a file: URI', cwd);
      expectThat(isObject(capabilities), 'capabilities', info);
      const { status } = await client.result('environment/status', null);
      expectEqual(status, 'ready', 'the status');
    }),
  },
];

import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { sallyport } from '../e2e/command.js';
import {
  type BuiltServer,
  base64,
  connectWebSocket,
  laterStart,
  launchServer,
  type Message,
  type RawClient,
  uri,
} from '../process/raw-client.js';
import { here, testRefusalWithoutRooms } from '../sandbox/container/rooms.js';

const SECRET = 'the-secret-of-the-house';
const LEVELS = ['process', 'container'] as const;
type Level = (typeof LEVELS)[number];

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-attack-')));
const home = join(folder, 'home');
const work = join(folder, 'work');
const outside = join(folder, 'home/notes');

const servers = new Map<Level, Awaited<ReturnType<typeof launchServer>>>();
let web: Server;
let webUrl = '';

beforeAll(async () => {
  mkdirSync(join(home, '.ssh'), { recursive: true });
  mkdirSync(join(home, '.cache/sallyport/tools/left-pad'), { recursive: true });
  mkdirSync(join(work, 'sub'), { recursive: true });
  writeFileSync(join(home, '.ssh/key'), SECRET, { mode: 0o600 });
  writeFileSync(join(home, '.cache/sallyport/tools/left-pad/index.js'), SECRET);
  writeFileSync(outside, SECRET);
  writeFileSync(join(work, 'own'), 'mine');
  symlinkSync(join(home, '.ssh'), join(work, 'to-ssh'));
  symlinkSync(join(home, '.ssh/key'), join(work, 'to-key'));
  symlinkSync(home, join(work, 'to-home'));
  symlinkSync('/', join(work, 'to-root'));
  for (const level of LEVELS) {
    const args = ['--listen', 'ws://127.0.0.1:0', '--isolation', level];
    servers.set(level, await launchServer(args, { HOME: home, TOKEN: SECRET }));
  }
  web = createServer((_request, response) => response.end(SECRET));
  await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
  const address = web.address();
  if (typeof address === 'object' && address !== null) webUrl = `http://127.0.0.1:${address.port}/`;
});
afterAll(async () => {
  web.close();
  await Promise.all([...servers.values()].map(({ dispose }) => dispose()));
  rmSync(folder, { recursive: true, force: true });
});

testRefusalWithoutRooms();

function serverAt(level: Level): BuiltServer {
  const launched = servers.get(level);
  if (launched === undefined) throw new Error('there is no server');
  return launched.server;
}

async function client(level: Level): Promise<RawClient> {
  const server = serverAt(level);
  const connected = await connectWebSocket(server.url, server);
  await connected.later();
  return connected;
}

let count = 0;
/** Runs a script to its end through the protocol, and returns all that it wrote, or the error of the start. */
async function runAt(level: Level, script: string, more: Record<string, unknown> = {}): Promise<string> {
  const connected = await client(level);
  count += 1;
  const id = `p${count}`;
  const { error } = await connected.call('process/start', laterStart(id, script, { cwd: uri(work), ...more }));
  if (error !== undefined) return `refused ${error.code}: ${error.message}`;
  await connected.notification('process/closed', id);
  return connected.output(id);
}

/** The processes of the machine that bear a mark in their arguments. */
function marked(mark: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      try {
        return pid > 0 && readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith(`sleep\0${mark}\0`);
      } catch {
        return false;
      }
    });
}

/** A mark that only one test has: so many seconds of sleep. */
function newMark(): string {
  count += 1;
  const mark = `8${process.pid}${count}`;
  onTestFinished(() => {
    for (const pid of marked(mark)) process.kill(pid, 'SIGKILL');
  });
  return mark;
}

const daemon = (mark: string): string =>
  `setsid sh -c '(sleep ${mark} </dev/null >/dev/null 2>&1 &)'; echo up; sleep 60`;

const READS: readonly (readonly [string, () => string])[] = [
  ['a file by its path', () => `cat ${outside}`],
  ['a key', () => `cat ${home}/.ssh/key`],
  ['a key through a link', () => 'cat to-ssh/key to-key'],
  ['the tool cache', () => `cat ${home}/.cache/sallyport/tools/left-pad/index.js`],
  ['through /proc/self/root', () => `cat /proc/self/root${outside}`],
  ['the environment of every process', () => 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"'],
];

describe.runIf(here.available)('commands over the protocol', () => {
  it.each(READS)('cannot read %s at level container, and can at level process', async (_name, script) => {
    expect(await runAt('process', script())).toContain(SECRET);
    expect(await runAt('container', script())).not.toContain(SECRET);
  });

  it('cannot read the environment of the server by its number, or the accounts of the machine', async () => {
    const environ = (level: Level) => `cat /proc/${serverAt(level).child.pid}/environ`;
    expect(await runAt('process', environ('process'))).toContain(SECRET);
    expect(await runAt('container', environ('container'))).not.toContain(SECRET);
    const accounts = 'cat /etc/passwd | wc -l; test -e /etc/shadow && echo there';
    expect(await runAt('process', accounts)).toContain('there');
    expect((await runAt('container', accounts)).trim()).toBe('2');
  });

  it('cannot connect to the port of the server', async () => {
    const knock = (level: Level) => {
      const { port } = new URL(serverAt(level).url);
      return `perl -MIO::Socket::INET -e 'print IO::Socket::INET->new("127.0.0.1:${port}") ? "connected" : "no: $!"'`;
    };
    expect(await runAt('process', knock('process'))).toBe('connected');
    expect(await runAt('container', knock('container'))).toMatch(/^no: /);
  });

  it('cannot write outside of their folder', async () => {
    const script = (name: string) =>
      `for f in ${folder}/${name} ${home}/${name} ../${name} to-home/${name} to-root${home}/.ssh/${name}; do touch "$f" 2>/dev/null; done; touch ${name}`;
    await runAt('process', script('plain'));
    expect(existsSync(join(home, 'plain')) && existsSync(join(home, '.ssh/plain'))).toBe(true);
    await runAt('container', script('confined'));
    expect(existsSync(join(work, 'confined'))).toBe(true);
    for (const place of [folder, home, join(home, '.ssh')]) expect(readdirSync(place)).not.toContain('confined');
  });

  it.each(['to-ssh', 'to-home', 'to-home/.cache/sallyport/tools'])(
    'cannot work in a folder that %s leads to',
    async (link) => {
      const cwd = uri(join(work, link));
      expect(await runAt('process', 'pwd -P', { cwd })).toContain(home);
      expect(await runAt('container', 'pwd -P', { cwd })).toMatch(/^refused -32603: .*workspace/);
    },
  );

  it('cannot get a link followed that is put in the place of their folder', async () => {
    const cwd = join(folder, 'swapped');
    symlinkSync(join(home, '.ssh'), cwd);
    expect(await runAt('process', 'cat key', { cwd: uri(cwd) })).toContain(SECRET);
    expect(await runAt('container', 'cat key', { cwd: uri(cwd) })).toMatch(/^refused/);
  });

  it.each(['terminate', 'disconnect'])('leave no daemon behind after %s', async (ending) => {
    const survivors: number[] = [];
    for (const level of LEVELS) {
      const server = serverAt(level);
      const connected = await (await connectWebSocket(server.url, server)).first();
      const mark = newMark();
      await connected.call('process/start', { ...laterStart('d', daemon(mark)), cwd: work });
      await connected.shows('d', 'up');
      await expect.poll(() => marked(mark)).toHaveLength(1);
      if (ending === 'terminate') await connected.call('process/terminate', { processId: 'd' });
      else connected.end();
      if (level === 'container') await expect.poll(() => marked(mark), { timeout: 2_000 }).toEqual([]);
      else {
        await new Promise((later) => setTimeout(later, 500));
        survivors.push(...marked(mark));
      }
    }
    expect(survivors).toHaveLength(1);
  });

  it('cannot start as many processes as they like', async () => {
    const bomb = (mark: string) => `for i in $(seq 400); do sleep ${mark} & done 2>/dev/null; echo done; sleep 60`;
    const counted = new Map<Level, number>();
    for (const level of LEVELS) {
      const connected = await client(level);
      const mark = newMark();
      await connected.call('process/start', laterStart('b', bomb(mark), { cwd: uri(work) }));
      await Promise.race([connected.shows('b', 'done'), connected.notification('process/exited', 'b')]);
      // Those that were forked become what they are in a moment.
      if (level === 'process') await expect.poll(() => marked(mark)).toHaveLength(400);
      counted.set(level, marked(mark).length);
      await connected.call('process/terminate', { processId: 'b' });
      await expect.poll(() => marked(mark)).toEqual([]);
    }
    expect(counted.get('process')).toBe(400);
    expect(counted.get('container')).toBeLessThan(256);
  });
});

const at = (path: string): string => uri(path.startsWith('/') ? path : join(work, path));
const WALK = { maxDepth: 3, maxDirectories: 100, maxEntries: 1_000, followDirectorySymlinks: true };

describe.runIf(here.available)('fs/* at level container', () => {
  /** Does the same at both levels. */
  async function both(method: string, params: unknown): Promise<{ plain: Message; confined: Message }> {
    const [plain, confined] = [await client('process'), await client('container')];
    return { plain: await plain.call(method, params), confined: await confined.call(method, params) };
  }

  it.each(['/etc/shadow', `${home}/.ssh/key`, outside, 'to-key', 'to-ssh/key', `to-root${outside}`])(
    'does not read %s',
    async (path) => {
      for (const method of ['fs/readFile', 'fs/open', 'fs/getMetadata', 'fs/canonicalize'])
        for (const { plain, confined } of [await both(method, { path: at(path), handleId: method })]) {
          expect(plain.error, method).toBeUndefined();
          // That a link is there is for everybody to see, but not where it leads.
          expect(confined.error, method).toMatchObject({ code: -32004 });
          expect(confined.error.message).toContain('not visible');
        }
    },
  );

  it('does not tell whether something exists that cannot be seen', async () => {
    for (const path of [`${home}/.ssh/key`, `${home}/.ssh/nothing`, `${home}/.ssh/key/nothing`, '/var/lib/x/y']) {
      const { confined } = await both('fs/readFile', { path: at(path) });
      expect(confined.error).toEqual({ code: -32004, message: expect.stringMatching(/is not visible/) });
    }
  });

  it('does not list, walk or copy what commands cannot see', async () => {
    const listed = await both('fs/readDirectory', { path: at('to-ssh') });
    expect([listed.plain.result.entries.length > 0, listed.confined.error?.code]).toEqual([true, -32004]);
    const walked = await both('fs/walk', { path: at('.'), options: WALK });
    const paths = ({ result }: Message): string => JSON.stringify(result.entries);
    expect(paths(walked.plain)).toContain('to-ssh/key');
    expect(paths(walked.confined)).not.toContain('to-');
    expect(paths(walked.confined)).toContain('own');
    const copied = await both('fs/copy', {
      sourcePath: at(`${home}/.ssh`),
      destinationPath: at('stolen'),
      recursive: true,
    });
    expect([copied.plain.error, copied.confined.error?.code]).toEqual([undefined, -32004]);
    const inside = await both('fs/readDirectory', { path: at('.') });
    const names = ({ result }: Message): string[] => result.entries.map((entry: Message) => entry.fileName);
    expect(names(inside.plain)).toContain('to-ssh');
    expect(names(inside.confined)).not.toContain('to-ssh');
  });

  it('does not write, make or remove anything outside of what commands may', async () => {
    const dataBase64 = base64('x');
    const attempts: readonly (readonly [string, Record<string, unknown>])[] = [
      ['fs/writeFile', { path: at(`${home}/.bashrc`), dataBase64 }],
      ['fs/writeFile', { path: at('to-home/.bashrc'), dataBase64 }],
      ['fs/writeFile', { path: at(`${home}/.cache/sallyport/tools/left-pad/index.js`), dataBase64 }],
      ['fs/writeFile', { path: at('to-key'), dataBase64 }],
      ['fs/createDirectory', { path: at(`${home}/.ssh/made/deep`) }],
      ['fs/createDirectory', { path: at('to-ssh/made') }],
      ['fs/copy', { sourcePath: at('own'), destinationPath: at('to-ssh/authorized_keys'), recursive: false }],
      ['fs/remove', { path: at('to-ssh/key') }],
      ['fs/remove', { path: at(`${home}/.ssh`) }],
    ];
    const confined = await client('container');
    for (const [method, params] of attempts) {
      const { error } = await confined.call(method, params);
      expect(error, `${method} ${params['path']}`).toMatchObject({ code: -32600 });
    }
    expect(readFileSync(join(home, '.ssh/key'), 'utf8')).toBe(SECRET);
    expect(readdirSync(join(home, '.ssh'))).not.toContain('made');
    const plain = await client('process');
    for (const [method, params] of attempts) expect((await plain.call(method, params)).error, method).toBeUndefined();
    expect(existsSync(join(home, '.ssh'))).toBe(false);
  });

  it('reads and writes where commands may, and reads what every command sees', async () => {
    const confined = await client('container');
    const write = { path: at('sub/new'), dataBase64: base64('new') };
    expect((await confined.call('fs/writeFile', write)).result).toEqual({});
    expect((await confined.call('fs/createDirectory', { path: at('sub/a/b') })).result).toEqual({});
    const copy = { sourcePath: at('sub'), destinationPath: at('sub2'), recursive: true };
    expect((await confined.call('fs/copy', copy)).result).toEqual({});
    expect(readFileSync(join(work, 'sub2/new'), 'utf8')).toBe('new');
    expect((await confined.call('fs/remove', { path: at('sub2') })).result).toEqual({});
    expect((await confined.call('fs/getMetadata', { path: at('.') })).result.isDirectory).toBe(true);
    expect((await confined.call('fs/readFile', { path: at('/usr/bin/env') })).result.dataBase64.length).toBeGreaterThan(
      100,
    );
    expect((await confined.call('fs/writeFile', { path: at('/usr/bin/x'), dataBase64: '' })).error.code).toBe(-32600);
  });
});

describe.runIf(here.available)('http/request at level container', () => {
  it('has the network of commands: none', async () => {
    const ask = async (level: Level) =>
      (await client(level)).call('http/request', { method: 'GET', url: webUrl, headers: [], requestId: 'r' });
    expect(Buffer.from((await ask('process')).result.bodyBase64, 'base64').toString()).toBe(SECRET);
    expect((await ask('container')).error).toMatchObject({ code: -32600, message: expect.stringContaining('none') });
  });
});

describe.runIf(here.available)('a sandbox that a client describes', () => {
  const NO_NETWORK = { permissions: { type: 'managed', fileSystem: { type: 'unrestricted' }, network: 'restricted' } };
  it.each([
    [{ permissions: { type: 'disabled' } }, [true, true]],
    [NO_NETWORK, [false, true]],
    [{ permissions: { type: 'external', network: 'restricted' } }, [false, true]],
    [{ permissions: { type: 'managed', fileSystem: { type: 'restricted', entries: [] } } }, [false, false]],
    [{ permissions: 5 }, [false, false]],
    [{}, [false, false]],
  ])('%j is accepted where it holds: %j', async (sandbox, accepted) => {
    const answers = await Promise.all(
      LEVELS.map(async (level) => !(await runAt(level, 'true', { sandbox })).startsWith('refused')),
    );
    expect(answers).toEqual(accepted);
  });
});

describe.runIf(here.available)('the command line', () => {
  it('runs one command confined to its folder', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home };
    const script = `pwd; cat ${outside} 2>/dev/null; touch by-exec`;
    const args = ['exec', '--isolation', 'container', '--cwd', work, '--', 'sh', '-c', script];
    expect(await sallyport(args, { env })).toMatchObject({ code: 0, stdout: `${work}\n` });
    expect(existsSync(join(work, 'by-exec'))).toBe(true);
  });

  it('says in one line, with exit code 1, what cannot hold', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home };
    for (const command of ['exec-server', 'exec']) {
      for (const [flags, line] of [
        [
          ['--isolation', 'container', '--workspace', join(folder, 'nothing')],
          /^sallyport: the workspace .* is not there\n$/,
        ],
        [['--isolation', 'container', '--workspace', home], /^sallyport: the workspace .*\n$/],
        [['--workspace', work], /^sallyport: --workspace needs --isolation.*\n$/],
      ] as const) {
        const result = await sallyport([command, ...flags, ...(command === 'exec' ? ['--', 'true'] : [])], { env });
        expect(result).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(line) });
      }
    }
    const elsewhere = ['exec', '--isolation', 'container', '--workspace', work, '--cwd', folder, '--', 'true'];
    expect(await sallyport(elsewhere, { env })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('workspace'),
    });
    expect((await sallyport(['exec', '--isolation', 'vault', '--', 'true'], { env })).code).toBe(2);
  });

  it('refuses where no room can be made, or says that it runs without one, as asked', async () => {
    const env = { PATH: '/nonexistent', HOME: home };
    const strict = await sallyport(['exec', '--isolation', 'container', '--cwd', work, '--', '/bin/true'], { env });
    expect(strict).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^sallyport: .*container.*not available.*\n$/),
    });
    const lenient = await sallyport(['exec', '--isolation', 'auto', '--cwd', work, '--', '/bin/true'], { env });
    expect(lenient).toMatchObject({ code: 0, stderr: expect.stringMatching(/^sallyport exec: .*not confined.*\n$/) });
  });
});

import { existsSync, readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { sallyport } from '../e2e/command.js';
import { connectWebSocket, laterStart, uri } from '../process/raw-client.js';
import { here, testRefusalWithoutRooms } from '../sandbox/container/rooms.js';
import { buildHouse, LEVELS, type Level, SECRET, Servers } from './house.js';

const house = buildHouse();
const { folder, home, work, notes } = house;
const servers = new Servers(house);
let count = 0;

testRefusalWithoutRooms();

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
  ['a file by its path', () => `cat ${notes}`],
  ['a key', () => `cat ${home}/.ssh/key`],
  ['a key through a link', () => 'cat to-ssh/key to-key'],
  ['the tool cache', () => `cat ${home}/.cache/sallyport/tools/left-pad/index.js`],
  ['through /proc/self/root', () => `cat /proc/self/root${notes}`],
  ['the environment of every process', () => 'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\0" "\\n"'],
];

describe.runIf(here.available)('commands over the protocol', () => {
  it.each(READS)('cannot read %s at level container, and can at level process', async (_name, script) => {
    expect(await servers.run('process', script())).toContain(SECRET);
    expect(await servers.run('container', script())).not.toContain(SECRET);
  });

  it('cannot read the environment of the server by its number, or the accounts of the machine', async () => {
    const environ = (level: Level) => `cat /proc/${servers.at(level).child.pid}/environ`;
    expect(await servers.run('process', environ('process'))).toContain(SECRET);
    expect(await servers.run('container', environ('container'))).not.toContain(SECRET);
    const accounts = 'cat /etc/passwd | wc -l; test -e /etc/shadow && echo there';
    expect(await servers.run('process', accounts)).toContain('there');
    expect((await servers.run('container', accounts)).trim()).toBe('2');
  });

  it('cannot connect to the port of the server', async () => {
    const knock = (level: Level) => {
      const { port } = new URL(servers.at(level).url);
      return `perl -MIO::Socket::INET -e 'print IO::Socket::INET->new("127.0.0.1:${port}") ? "connected" : "no: $!"'`;
    };
    expect(await servers.run('process', knock('process'))).toBe('connected');
    expect(await servers.run('container', knock('container'))).toMatch(/^no: /);
  });

  it('cannot write outside of their folder', async () => {
    const script = (name: string) =>
      `for f in ${folder}/${name} ${home}/${name} ../${name} to-home/${name} to-root${home}/.ssh/${name}; do touch "$f" 2>/dev/null; done; touch ${name}`;
    await servers.run('process', script('plain'));
    expect(existsSync(join(home, 'plain')) && existsSync(join(home, '.ssh/plain'))).toBe(true);
    await servers.run('container', script('confined'));
    expect(existsSync(join(work, 'confined'))).toBe(true);
    for (const place of [folder, home, join(home, '.ssh')]) expect(readdirSync(place)).not.toContain('confined');
  });

  it.each(['to-ssh', 'to-home', 'to-home/.cache/sallyport/tools'])(
    'cannot work in a folder that %s leads to',
    async (link) => {
      const cwd = uri(join(work, link));
      expect(await servers.run('process', 'pwd -P', { cwd })).toContain(home);
      expect(await servers.run('container', 'pwd -P', { cwd })).toMatch(/^refused -32603: .*workspace/);
    },
  );

  it('cannot get a link followed that is put in the place of their folder', async () => {
    const cwd = join(folder, 'swapped');
    symlinkSync(join(home, '.ssh'), cwd);
    expect(await servers.run('process', 'cat key', { cwd: uri(cwd) })).toContain(SECRET);
    expect(await servers.run('container', 'cat key', { cwd: uri(cwd) })).toMatch(/^refused/);
  });

  it.each(['terminate', 'disconnect'])('leave no daemon behind after %s', async (ending) => {
    const survivors: number[] = [];
    for (const level of LEVELS) {
      const server = servers.at(level);
      const connected = await (await connectWebSocket(server.url, server)).first();
      const mark = newMark();
      await connected.call('process/start', { ...laterStart('d', daemon(mark)), cwd: work });
      await connected.shows('d', 'up');
      await expect.poll(() => marked(mark)).toHaveLength(1);
      if (ending === 'terminate') await connected.call('process/terminate', { processId: 'd' });
      else connected.end();
      if (level === 'container') await expect.poll(() => marked(mark)).toEqual([]);
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
      const connected = await servers.client(level);
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

describe.runIf(here.available)('the command line', () => {
  it('runs one command confined to its folder', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home };
    const script = `pwd; cat ${notes} 2>/dev/null; touch by-exec`;
    const args = ['exec', '--isolation', 'container', '--cwd', work, '--', 'sh', '-c', script];
    expect(await sallyport(args, { env })).toMatchObject({ code: 0, stdout: `${work}\n` });
    expect(existsSync(join(work, 'by-exec'))).toBe(true);
  });

  const REFUSED: readonly (readonly [string, readonly string[], RegExp])[] = [
    [
      'a workspace that is not there',
      ['container', join(folder, 'nothing')],
      /^sallyport: the workspace .* is not there\n$/,
    ],
    ['a workspace with the tool cache in it', ['container', home], /^sallyport: the workspace .*\n$/],
    ['a workspace at level process', ['process', work], /^sallyport: --workspace needs --isolation.*\n$/],
  ];
  it.each(REFUSED)(
    'says in one line, with exit code 1, that it refuses %s',
    async (_name, [level, workspace], line) => {
      const env = { PATH: process.env['PATH'] ?? '', HOME: home };
      for (const command of [['exec-server'], ['exec', '--', 'true']]) {
        const [name = '', ...rest] = command;
        const args = [name, '--isolation', level ?? '', '--workspace', workspace ?? '', ...rest];
        const refused = { code: 1, stdout: '', stderr: expect.stringMatching(line) };
        expect(await sallyport(args, { env })).toMatchObject(refused);
      }
    },
  );

  it('says what a command outside of all workspaces needs', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HOME: home };
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

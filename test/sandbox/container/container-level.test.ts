import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
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
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { containerLevel } from '../../../src/sandbox/container/container-level.js';
import { findGroupHome, type GroupHome } from '../../../src/sandbox/container/control-groups.js';
import { GUEST_POLICY, processPolicy } from '../../../src/sandbox/container/policies.js';
import type { Policy } from '../../../src/sandbox/container/policy.js';
import { createSpawner } from '../../../src/sandbox/index.js';
import { readProcessTable } from '../../../src/sandbox/process-table.js';
import { collect, gone, PATH, result, shell, shows, terminal } from '../helpers.js';
import { here, run, testRefusalWithoutRooms } from './rooms.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-room-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const level = containerLevel({ policy: GUEST_POLICY });
const withFiles = (filesystem: Partial<Policy['filesystem']>): Policy => ({
  ...GUEST_POLICY,
  filesystem: { ...GUEST_POLICY.filesystem, ...filesystem },
});
const withLimits = (limits: Policy['limits'], groups?: GroupHome) =>
  containerLevel({ policy: { ...GUEST_POLICY, limits }, ...(groups === undefined ? {} : { groups }) });
const DIST = new URL('../../../dist/sandbox/index.js', import.meta.url).href;
/** The processes that have this word among their arguments. */
const running = (word: string): number[] =>
  readProcessTable().flatMap(({ pid }) => (commandLine(pid).includes(word) ? [pid] : []));

/** What a process was started with, or nothing when it is gone. */
function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
const NO_GROUPS: GroupHome = { version: 1, folders: new Map(), lacking: new Map() };

testRefusalWithoutRooms();

describe.runIf(here.available)('a room', () => {
  test('has the environment that was given, and where it is', async () => {
    const { text } = await run(level, '', { argv: ['env'], env: { PATH, TOKEN: 'a b=c' }, cwd: '/tmp' });
    expect(text.trim().split('\n').sort()).toEqual([`PATH=${PATH}`, 'PWD=/tmp', 'TOKEN=a b=c']);
  });

  test('shows nobody outside the environment or the policy in its arguments', async () => {
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const child = await spawner.spawn(
      shell('echo ready; sleep 60', { level: 'container', env: { PATH, TOKEN: 'hush-4711' } }),
    );
    await shows(child.outputs[0], 'ready');
    expect(readFileSync(`/proc/${child.pid}/cmdline`, 'latin1')).not.toContain('hush-4711');
    expect(readFileSync(`/proc/${child.pid}/environ`, 'latin1')).not.toContain('TOKEN');
  });

  test('can have a folder of /var/tmp, which is its /tmp otherwise', async () => {
    const folder = mkdtempSync('/var/tmp/sallyport-room-');
    try {
      const granted = containerLevel({ policy: processPolicy(folder) });
      const { text } = await run(granted, 'pwd; touch here; touch ../beside; ls ..', { cwd: folder });
      expect(text).toContain(`${folder}\n`);
      expect(readdirSync(folder)).toEqual(['here']);
      expect(existsSync('/var/tmp/beside')).toBe(false);
      expect((await run(level, 'touch /var/tmp/x; ls /tmp')).text).toBe('x\n');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('passes exit codes on, and those of signals as a shell does', async () => {
    expect(await run(level, 'exit 7')).toMatchObject({ exitCode: 7, signal: null });
    expect(await run(level, 'kill -SEGV $$')).toMatchObject({ exitCode: 139, signal: null });
  });

  test('lets a command comply with a polite signal, and reports the signal that ended it', async () => {
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const polite = await spawner.spawn(
      shell('trap "echo bye; exit 3" TERM; echo ready; while :; do sleep 0.05; done', { level: 'container' }),
    );
    let text = '';
    polite.outputs[1]?.discard();
    await new Promise<void>((resolve) => {
      polite.outputs[0]?.onData((chunk) => {
        text += chunk.toString();
        if (text.includes('ready')) resolve();
      });
    });
    await polite.terminate({ graceMs: 10_000 });
    await polite.drained;
    expect(await polite.exited).toMatchObject({ exitCode: 3 });
    expect(text).toContain('bye');
    const plain = await spawner.spawn(shell('echo ready; exec sleep 60', { level: 'container' }));
    await shows(plain.outputs[0], 'ready');
    expect(plain.kill('SIGTERM')).toBe(true);
    expect(await plain.exited).toMatchObject({ exitCode: null, signal: 'SIGTERM' });
  });

  test('gives a terminal with job control, whose keys reach the command and not what is around it', async () => {
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const script = 'trap "echo caught; exit 5" INT; tty >/dev/null && echo ready; while :; do sleep 0.05; done';
    const child = await spawner.spawn(terminal(script, { level: 'container' }));
    let text = '';
    const ready = new Promise<void>((resolve) => {
      child.outputs[0]?.onData((chunk) => {
        text += chunk.toString();
        if (text.includes('ready')) resolve();
      });
    });
    await ready;
    await child.input?.write(Buffer.from('\x03'));
    expect(await child.exited).toMatchObject({ exitCode: 5 });
    await child.drained;
    expect(text).toContain('caught');
  });

  test('hands on the extra pipes, and no other handle', async () => {
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const script = 'echo hello >&3; for f in /proc/self/fd/*; do readlink $f; done';
    const stdio = { kind: 'pipes', stdin: 'null', extraPipes: 1 } as const;
    const child = await spawner.spawn(shell(script, { level: 'container', stdio }));
    const extra = collect(child.extraPipes[0]?.output);
    const { text } = await result(child);
    expect((await extra).toString()).toBe('hello\n');
    const strange = text
      .trim()
      .split('\n')
      .filter((target) => !/^(socket:|pipe:|\/dev\/null$|\/proc\/)/.test(target));
    expect(strange).toEqual([]);
    expect(text.match(/socket:|pipe:/g)).toHaveLength(3);
  });

  test('mounts what is granted, read-only or not, and hides what is not', async () => {
    const data = join(folder, 'data');
    mkdirSync(join(data, 'secret'), { recursive: true });
    mkdirSync(join(data, 'fixed'));
    for (const name of ['plain', 'secret/key', 'fixed/file', 'hidden']) writeFileSync(join(data, name), name);
    const policy = withFiles({
      write: [data],
      read: [join(data, 'fixed')],
      hide: [join(data, 'secret'), join(data, 'hidden')],
    });
    const script = `cd ${data}; cat plain; echo new > made; cat fixed/file; echo no > fixed/file; cat secret/key; ls secret; cat hidden; cat ${folder}/outside`;
    writeFileSync(join(folder, 'outside'), 'OUTSIDE');
    const { text } = await run(containerLevel({ policy }), script);
    expect(text).toBe('plainfixed/file');
    expect(readFileSync(join(data, 'made'), 'utf8')).toBe('new\n');
    expect(readFileSync(join(data, 'fixed/file'), 'utf8')).toBe('fixed/file');
  });

  test('refuses paths that are not there, or are links to elsewhere', async () => {
    symlinkSync('/etc', join(folder, 'link'));
    mkdirSync(join(folder, 'real/inner'), { recursive: true });
    symlinkSync(join(folder, 'real'), join(folder, 'alias'));
    spawnSync('mkfifo', [join(folder, 'fifo')]);
    const attempt = (path: string) => run(containerLevel({ policy: withFiles({ write: [path] }) }), 'true');
    await expect(attempt(join(folder, 'nothing'))).rejects.toThrow('cannot be opened (ENOENT)');
    await expect(attempt(join(folder, 'link'))).rejects.toThrow('a link to elsewhere: grant /etc itself');
    await expect(attempt(join(folder, 'alias/inner'))).rejects.toThrow(`grant ${folder}/real/inner itself`);
    await expect(attempt(join(folder, 'fifo'))).rejects.toThrow('neither a folder nor a file');
  });

  test('starts programs only that are visible inside, in folders that are', async () => {
    const bin = join(folder, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'tool'), '#!/bin/sh\necho tool\n');
    chmodSync(join(bin, 'tool'), 0o755);
    const request = { argv: ['tool'], env: { PATH: `${bin}:${PATH}` } };
    await expect(run(level, '', request)).rejects.toMatchObject({ code: 'SPAWN_FAILED', facts: { errno: 'ENOENT' } });
    expect((await run(containerLevel({ policy: withFiles({ read: [bin] }) }), '', request)).text).toBe('tool\n');
    await expect(run(level, 'true', { cwd: folder })).rejects.toThrow('not visible inside');
  });

  test('refuses more arguments or variables than bubblewrap takes, before anything starts', async () => {
    const many = Array.from({ length: 8_000 }, (_, index) => `x${index}`);
    expect((await run(level, '', { argv: ['sh', '-c', 'echo $#', 'sh', ...many] })).text).toBe('8000\n');
    const tooMany = { code: 'SPAWN_FAILED', facts: { errno: 'E2BIG' } };
    await expect(run(level, '', { argv: ['true', ...many, ...many] })).rejects.toMatchObject(tooMany);
    const env = Object.fromEntries(many.map((name) => [name, '1']));
    await expect(run(level, 'true', { env: { PATH, ...env } })).rejects.toMatchObject(tooMany);
  });

  test('is narrowed by a call, and never widened', async () => {
    const wide = containerLevel({ policy: (command) => processPolicy(command.cwd) });
    const script = 'echo x > made-here && echo wrote';
    const inside = { cwd: folder, argv: ['sh', '-c', script] };
    expect((await run(wide, script, inside)).text).toBe('wrote\n');
    const less = { filesystem: { write: [], read: [folder] } };
    expect((await run(wide, script, { ...inside, policy: less })).text).toBe('');
    const more = { network: { kind: 'host' } as const };
    await expect(run(wide, script, { ...inside, policy: more })).rejects.toMatchObject({ code: 'POLICY_WIDENED' });
  });

  test('runs Node, which finds no network', async () => {
    const script = `require('net').connect(80, '127.0.0.1').on('error', (e) => console.log(e.code))`;
    const { text, exitCode } = await run(level, '', { argv: [process.execPath, '-e', script] });
    expect({ text, exitCode }).toEqual({ text: 'EAFNOSUPPORT\n', exitCode: 0 });
  });

  test('says how each limit holds, and has the limits of the kernel where there are no control groups', async () => {
    expect(withLimits({}, NO_GROUPS).enforcement()).toMatchObject({
      memoryBytes: 'each process',
      tmpBytes: 'whole tree',
    });
    const limits = { memoryBytes: 64 * 1024 * 1024, fileSizeBytes: 4096, openFiles: 50, cpuSeconds: 9, processes: 40 };
    const shown = await run(withLimits(limits, NO_GROUPS), 'cat /proc/self/limits');
    expect(shown.text).toMatch(/Max data size +67108864/);
    expect(shown.text).toMatch(/Max file size +4096/);
    expect(shown.text).toMatch(/Max open files +50 /);
    expect(shown.text).toMatch(/Max cpu time +9 +10/);
    expect(shown.text).toMatch(/Max processes +40 /);
    expect(shown.text).toMatch(/Max core file size +0 /);
    const eater = 'my @x; push @x, "x" x 1e6 for 1..200; print "ate";';
    expect(await run(withLimits(limits, NO_GROUPS), '', { argv: ['perl', '-e', eater] })).toMatchObject({ text: '' });
  });

  test('has the same limits of the kernel where there are control groups, however large or small they are', async () => {
    for (const size of [
      { fileSizeBytes: 8 * 1024 * 1024, openFiles: 300 },
      { fileSizeBytes: 4096, openFiles: 20 },
    ]) {
      const { fileSizeBytes, openFiles } = size;
      const limits = { ...size, memoryBytes: 512 * 1024 * 1024, cpuSeconds: 9, processes: 40 };
      const shown = await run(withLimits(limits), 'cat /proc/self/limits');
      expect(shown.text).toMatch(new RegExp(`Max file size +${fileSizeBytes} +${fileSizeBytes}`));
      expect(shown.text).toMatch(new RegExp(`Max open files +${openFiles} +${openFiles}`));
      expect(shown.text).toMatch(/Max cpu time +9 +10/);
      expect(shown.text).toMatch(/Max core file size +0 +0/);
    }
  });

  test('tells a memory limit that was hit from a crash, as far as the machine lets it', async () => {
    const limited = withLimits({ memoryBytes: 64 * 1024 * 1024 });
    const eater = { argv: ['perl', '-e', 'my @x; push @x, "x" x 1e6 for 1..300; print "ate";'] };
    const eaten = await run(limited, '', eater);
    expect(eaten.text).toBe('');
    const crash = await run(limited, 'kill -KILL $$');
    expect(crash).toMatchObject({ exitCode: 137 });
    expect(crash.limit).toBeUndefined();
    if (limited.enforcement().memoryBytes === 'whole tree') {
      expect(eaten).toMatchObject({ limit: 'memory' });
      expect(eaten.usage.maxRssBytes).toBeGreaterThan(32 * 1024 * 1024);
    } else {
      expect(findGroupHome().lacking.get('memory')).toEqual(expect.any(String));
    }
    expect((await run(containerLevel({ policy: GUEST_POLICY }), '', eater)).text).toBe('ate');
  });

  test('ends a command that used up its processor time', async () => {
    const spun = await run(withLimits({ cpuSeconds: 1 }), 'while :; do :; done', { limits: { timeoutMs: 15_000 } });
    expect(spun).toMatchObject({ exitCode: 152, timedOut: false });
    if (findGroupHome().folders.has('cpuacct')) expect(spun.limit).toBe('cpu');
  });

  test('ends a command that floods its output', async () => {
    const flood = await run(level, 'yes', { limits: { outputBytes: 1024 * 1024, timeoutMs: 15_000 } });
    expect(flood).toMatchObject({ signal: 'SIGKILL', limit: 'output', timedOut: false });
    expect(flood.text.length).toBeLessThan(4 * 1024 * 1024);
  });

  test('leaves nothing behind after 100 runs: no process, mount, group or folder', async () => {
    const traces = () => ({
      mounts: readFileSync('/proc/self/mountinfo', 'utf8').split('\n').length,
      groups: [...findGroupHome().folders.values()]
        .flatMap((home) => readdirSync(home))
        .filter((name) => name.startsWith(`sallyport-${process.pid}-`)),
      folders: [tmpdir(), '/dev/shm']
        .flatMap((place) => readdirSync(place))
        // Those of this process; the nameless ones have no owner, but are gone in a moment unless they leak.
        .filter((name) => name.startsWith(`sallyport-proxy-${process.pid}-`) || /^sallyport-[0-9a-f]{24}$/.test(name)),
      handles: readdirSync('/proc/self/fd').length,
    });
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const once = async () => {
      const child = await spawner.spawn(shell('setsid sleep 300 & sleep 300 & exit 0', { level: 'container' }));
      for (const output of child.outputs) output.discard();
      await child.closed;
      return child.pid;
    };
    await once();
    const before = traces();
    const pids: number[] = [];
    for (let round = 0; round < 10; round += 1) pids.push(...(await Promise.all(Array.from({ length: 10 }, once))));
    expect(await gone(pids)).toBe(true);
    await expect.poll(traces).toEqual(before);
    const table = readProcessTable().map((entry) => entry.ppid);
    expect(table.filter((parent) => pids.includes(parent))).toEqual([]);
  });

  test('is empty at once when it is ended, daemons and all', async () => {
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const child = await spawner.spawn(
      shell('setsid sleep 4711.5 & setsid sh -c "sleep 4711.5 & wait" & echo ready; wait', { level: 'container' }),
    );
    await shows(child.outputs[0], 'ready');
    await expect.poll(() => running('4711.5').length).toBeGreaterThan(2);
    await child.terminate();
    expect(running('4711.5')).toEqual([]);
    expect(child.vacated).toBe(true);
  });

  test('leaves nothing when it is ended while it is being made', async () => {
    await using spawner = createSpawner({ levels: new Map([['container', level]]) });
    const name = `4712.${process.pid}`;
    for (let round = 0; round < 10; round += 1) {
      const rooms = await Promise.all(
        Array.from({ length: 4 }, () => spawner.spawn(shell(`sleep ${name}`, { level: 'container' }))),
      );
      await Promise.all(rooms.map((room) => room.terminate()));
    }
    expect(running(name)).toEqual([]);
  });

  test('leaves nothing when the program that makes it is killed meanwhile', async () => {
    const name = `4713.${process.pid}`;
    const script = `
      import { containerLevel, createSpawner, GUEST_POLICY } from ${JSON.stringify(DIST)};
      const spawner = createSpawner({ levels: new Map([['container', containerLevel({ policy: GUEST_POLICY })]]) });
      const request = { argv: ['sleep', '${name}'], env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: { kind: 'pipes', stdin: 'null' }, level: 'container' };
      const make = async () => { for (;;) await spawner.spawn(request); };
      void make(); void make(); void make();
      setTimeout(() => console.log('at it'), 150);`;
    for (let round = 0; round < 5; round += 1) {
      const program = spawn(process.execPath, ['--input-type=module', '-e', script], { env: { PATH } });
      await new Promise((resolve) => program.stdout.once('data', resolve));
      await new Promise((resolve) => setTimeout(resolve, 23 * round));
      expect(running(name).length).toBeGreaterThan(0);
      program.kill('SIGKILL');
      await expect.poll(() => running(name), { interval: 100 }).toEqual([]);
    }
    // Nobody comes later either.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(running(name)).toEqual([]);
  });

  test('works for an ordinary user as well', () => {
    // Whoever runs these tests as root tries it as somebody else; an ordinary user has tried it all along.
    const script = `
      import { containerLevel, createSpawner, GUEST_POLICY } from ${JSON.stringify(DIST)};
      const level = containerLevel({ policy: GUEST_POLICY });
      const spawner = createSpawner({ levels: new Map([['container', level]]) });
      const child = await spawner.spawn({ argv: ['sh', '-c', 'id -u; cat /proc/1/environ /etc/shadow; exit 4'], env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: { kind: 'pipes', stdin: 'null' }, level: 'container' });
      let text = ''; child.outputs[0].onData((c) => { text += c; }); child.outputs[1].discard();
      const { exitCode } = await child.exited; await child.drained;
      console.log(JSON.stringify({ exitCode, text, user: process.getuid(), hold: level.enforcement().processes }));
      await spawner.dispose();`;
    const node = [process.execPath, '--input-type=module', '-e', script];
    const other = ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups', '--', ...node];
    const [file = '', ...args] = process.getuid?.() === 0 ? other : node;
    const { stdout, stderr } = spawnSync(file, args, { encoding: 'utf8', cwd: '/', env: { PATH } });
    // A checkout below a folder that is closed to others cannot be read by them; then there is nothing to be learnt here.
    if (/EACCES|ERR_MODULE_NOT_FOUND/.test(stderr)) return expect(process.getuid?.()).toBe(0);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({ exitCode: 4, text: '1000\n', hold: 'whole tree' });
  });
});

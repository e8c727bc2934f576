import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerLevel } from '../../src/sandbox/container/container-level.js';
import { GUEST_POLICY, processPolicy } from '../../src/sandbox/container/policies.js';
import type { NetworkPolicy, Policy } from '../../src/sandbox/container/policy.js';
import { MACHINES } from '../../src/sandbox/container/seccomp/machines.js';
import { readProcessTable } from '../../src/sandbox/process-table.js';
import { altered, here, processLevel, run, testRefusalWithoutRooms, without } from '../sandbox/container/rooms.js';
import { PATH } from '../sandbox/helpers.js';

const SECRET = 'the-secret-of-the-house';
const DIST = new URL('../../dist/sandbox/index.js', import.meta.url).href;
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-redteam-')));
const work = join(folder, 'work');
const secret = join(folder, 'secret');
const socketPath = join(folder, 'host.sock');
const abstractName = `sallyport-redteam-${process.pid}`;

let victim: ChildProcess;
let port = 0;
const servers: Server[] = [];

beforeAll(async () => {
  mkdirSync(work);
  writeFileSync(secret, SECRET, { mode: 0o600 });
  // A process as the server is one: secrets in its environment, an open file, memory, a port.
  victim = spawn('sh', ['-c', `exec 7<${secret}; echo ready; exec sleep 300`], {
    env: { PATH, TOKEN: SECRET },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await new Promise((resolve) => victim.stdout?.once('data', resolve));
  for (const place of [{ host: '::', port: 0 }, { path: socketPath }, { path: `\0${abstractName}` }]) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end(SECRET);
    });
    servers.push(server);
    await new Promise<void>((done) => server.listen(place, done));
    const address = server.address();
    if (typeof address === 'object' && address !== null) port = address.port;
  }
});
afterAll(() => {
  for (const server of servers) server.close();
  victim.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

const policy = (more: Partial<Policy> = {}): Policy => ({ ...processPolicy(work), ...more });
const room = (more: Partial<Policy> = {}) => containerLevel({ policy: policy(more) });
const perl = (script: string) => ({ argv: ['perl', '-e', script], cwd: work, limits: { timeoutMs: 15_000 } });
const sh = (script: string) => ({ argv: ['sh', '-c', script], cwd: work, limits: { timeoutMs: 15_000 } });

/** The processes that sleep for just this long. */
const survivors = (name: string): number[] =>
  readProcessTable()
    .map(({ pid }) => pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1') === `sleep\0${name}\0`;
      } catch {
        return false;
      }
    });

testRefusalWithoutRooms();

describe.runIf(here.available)('from inside a room', () => {
  describe('secrets (P12, P13)', () => {
    const attacks: [string, () => ReturnType<typeof sh>][] = [
      ['reading a file by its path', () => sh(`cat ${secret}`)],
      ['reading it by a detour', () => sh(`cat ../../../../../../..${secret}`)],
      ['reading it through /proc/self/root', () => sh(`cat /proc/self/root${secret}`)],
      ['reading it through the root of every process', () => sh(`cat /proc/[0-9]*/root${secret} 2>/dev/null`)],
      [
        'reading it through the folder of every process',
        () => sh(`cat /proc/[0-9]*/cwd/../secret /proc/[0-9]*/cwd${secret} 2>/dev/null`),
      ],
      ['reading it through a symbolic link', () => sh(`ln -sf ${secret} link; cat link`)],
      ['reading it through a hard link', () => sh(`rm -f hard; ln ${secret} hard && cat hard`)],
      ['reading the folder above', () => sh('cat ../secret')],
      ['reading the environment of every process', () => sh('cat /proc/[0-9]*/environ 2>/dev/null')],
      ['reading the open files of the server', () => sh(`cat /proc/${victim.pid}/fd/7`)],
      [
        'reading the memory of every process',
        () =>
          perl(`for my $maps (glob '/proc/[0-9]*/maps') { open my $list, '<', $maps or next; (my $mem = $maps) =~ s/maps/mem/; open my $in, '<', $mem or next;
          while (<$list>) { next unless /^([0-9a-f]+)-([0-9a-f]+) rw.*\\[stack\\]/; sysseek $in, hex $1, 0; sysread $in, my $bytes, hex($2) - hex($1); print $1 if $bytes =~ /TOKEN=(the-secret-of-the-house)/ } }`),
      ],
      [
        'asking a socket of the machine by its path',
        () =>
          perl(
            `use Socket; socket my $s, PF_UNIX, SOCK_STREAM, 0; connect $s, pack_sockaddr_un('${socketPath}') and print <$s>`,
          ),
      ],
      [
        'asking an abstract socket of the machine',
        () =>
          perl(
            `use Socket; for my $name ("\\0${abstractName}", pack "a108", "\\0${abstractName}") { socket my $s, PF_UNIX, SOCK_STREAM, 0; connect $s, pack("S a*", AF_UNIX, $name) and print <$s> }`,
          ),
      ],
    ];
    test.each(attacks)('%s fails', async (_, attack) => {
      const outside = await run(processLevel, '', attack());
      expect(outside.text).toContain(SECRET);
      for (const network of [{ kind: 'none' }, { kind: 'loopback' }] satisfies NetworkPolicy[]) {
        const { text } = await run(room({ network }), '', attack());
        expect(text).not.toContain(SECRET);
      }
    });

    test('there are no accounts, keys, devices or sockets of the machine', async () => {
      const list =
        '/etc/shadow /etc/gshadow /etc/ssh /etc/ssl/private /root /var/run/docker.sock /run/dbus /run/systemd /tmp/.X11-unix /sys /boot /dev/mem /dev/kmsg /dev/sda /dev/vda /dev/fuse /dev/kvm';
      const look = `for f in ${list}; do [ -e $f ] && echo $f; done; ls /home /tmp /run`;
      expect((await run(processLevel, look)).text).toContain('/etc/shadow\n');
      const { text } = await run(containerLevel({ policy: GUEST_POLICY }), look);
      expect(text.replace(/^\/\w+:$|\s/gm, '')).toBe('');
    });

    test('a handle that the server was started with is of no use', () => {
      const script = (level: string) => `
        import { containerLevel, createSpawner, GUEST_POLICY } from ${JSON.stringify(DIST)};
        import { spawnSync } from 'node:child_process';
        if (${JSON.stringify(level)} === 'bare') { console.log(spawnSync('sh', ['-c', 'cat /proc/self/fd/40'], { encoding: 'utf8' }).stdout); process.exit(); }
        const spawner = createSpawner({ levels: new Map([['container', containerLevel({ policy: GUEST_POLICY })]]) });
        const child = await spawner.spawn({ argv: ['sh', '-c', 'cat /proc/self/fd/40; cat /proc/*/fd/*'], env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: { kind: 'pipes', stdin: 'null' }, level: 'container', limits: { timeoutMs: 3000, killGraceMs: 1 } });
        child.outputs[0].onData((chunk) => process.stdout.write(chunk)); child.outputs[1].discard();
        await child.exited; await child.drained; await spawner.dispose();`;
      // Node closes what it inherits up to the first gap; this one is beyond.
      const leak = `use POSIX; $^F = 255; open my $f, '<', '${secret}'; POSIX::dup2(fileno $f, 40); exec @ARGV`;
      const start = (level: string) => {
        const node = [process.execPath, '--input-type=module', '-e', script(level)];
        return spawnSync('perl', ['-e', leak, ...node], { encoding: 'utf8', env: { PATH } });
      };
      expect(start('bare').stdout).toContain(SECRET);
      const confined = start('container');
      expect(confined.stderr).toBe('');
      expect(confined.stdout).not.toContain(SECRET);
    });
  });

  describe('other processes (P10, P12)', () => {
    test('signalling one outside fails', async () => {
      const attack = () => sh(`kill -0 ${victim.pid} && echo reached`);
      expect((await run(processLevel, '', attack())).text).toBe('reached\n');
      expect((await run(room(), '', attack())).text).toBe('');
      // Everybody it may signal is itself.
      await run(room(), '', sh('kill -KILL -1'));
      expect(victim.exitCode ?? victim.signalCode).toBeNull();
    });

    test('tracing one outside fails', async () => {
      const call = MACHINES.get(process.arch)?.refused['ptrace'];
      const attack = () => perl(`print syscall(${call}, 0x4206, ${victim.pid}, 0, 0) == 0 ? "traced" : $!+0`);
      if (process.getuid?.() === 0) expect((await run(processLevel, '', attack())).text).toBe('traced');
      expect((await run(room(), '', attack())).text).toBe('1');
    });

    test('leaving a daemon behind fails', async () => {
      const daemon = (name: string) =>
        sh(`setsid sh -c 'setsid sleep ${name} & setsid sleep ${name} &' </dev/null >/dev/null 2>&1; sleep 0.2`);
      const unique = (level: number) => `30${level}.${process.pid}`;
      await run(processLevel, '', daemon(unique(1)));
      const left = survivors(unique(1));
      for (const pid of left) process.kill(pid, 'SIGKILL');
      expect(left).toHaveLength(2);
      await run(room(), '', daemon(unique(2)));
      expect(survivors(unique(2))).toEqual([]);
    });

    test('outliving a server that is killed fails', async () => {
      const script = (level: string, name: string) => `
        import { containerLevel, createSpawner, GUEST_POLICY, processLevel } from ${JSON.stringify(DIST)};
        const levels = new Map([['container', containerLevel({ policy: GUEST_POLICY })], ['process', processLevel]]);
        const spawner = createSpawner({ levels });
        const daemon = "setsid sh -c 'setsid sleep ${name} & setsid sleep ${name} &' </dev/null >/dev/null 2>&1";
        const child = await spawner.spawn({ argv: ['sh', '-c', daemon + '; sleep 0.2; echo ready; sleep 300'], env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: { kind: 'pipes', stdin: 'null' }, level: ${JSON.stringify(level)} });
        child.outputs[0].onData(() => console.log('ready'));`;
      const killServer = async (level: string, name: string): Promise<void> => {
        const node = [process.execPath, '--input-type=module', '-e', script(level, name)] as const;
        const server = spawn(node[0], node.slice(1), { env: { PATH } });
        await new Promise((done) => server.stdout.once('data', done));
        expect(survivors(name)).toHaveLength(2);
        server.kill('SIGKILL');
      };
      const [loose, confined] = [`306.${process.pid}`, `307.${process.pid}`];
      await killServer('container', confined);
      await expect.poll(() => survivors(confined)).toEqual([]);
      await killServer('process', loose);
      const left = survivors(loose);
      for (const pid of left) process.kill(pid, 'SIGKILL');
      expect(left).toHaveLength(2);
    });
  });

  describe('the machine (P10)', () => {
    test('a fork bomb runs into its limit, or the level says that it has none here', async () => {
      const attack = () =>
        perl(
          'my $n = 0; while ($n < 150 && defined(my $p = fork)) { if (!$p) { sleep 60; exit } $n++ } print $n; kill 9, -$$;',
        );
      expect(
        Number(
          (
            await run(
              processLevel,
              '',
              perl(
                'my $n = 0; while ($n < 150 && defined(my $p = fork)) { if (!$p) { sleep 60; exit } $n++ } $| = 1; print $n; kill 9, 0;',
              ),
            )
          ).text,
        ),
      ).toBe(150);
      const level = room({ limits: { processes: 20 } });
      const bombed = await run(level, '', attack());
      if (level.enforcement().processes === 'whole tree') expect(Number(bombed.text)).toBeLessThan(25);
      else expect(level.enforcement().processes).toBe('not enforced');
    });

    test.each(['/tmp', '/home', '/dev/shm'])('filling the disk through %s fails', async (place) => {
      const mebibytes = place === '/dev/shm' ? 80 : 12;
      const fill = (where: string) =>
        sh(`dd if=/dev/zero of=${where}/fill bs=1M count=${mebibytes} 2>/dev/null && echo filled; rm -f ${where}/fill`);
      expect((await run(processLevel, '', fill(work))).text).toBe('filled\n');
      const limits = { tmpBytes: 4 * 1024 * 1024, memoryBytes: 512 * 1024 * 1024 };
      expect((await run(room({ limits }), '', fill(place))).text).toBe('');
    });

    test('writing anywhere else fails', async () => {
      const places = '/ /usr /usr/bin /etc /dev /run /var /proc /proc/sys/kernel /bin';
      const attack = () => sh(`for d in ${places}; do : > $d/sallyport-was-here && echo $d; done 2>/dev/null`);
      expect((await run(room(), '', attack())).text).toBe('');
      const loose = altered(room(), (args) => {
        const at = args.findIndex((argument, index) => argument === '/' && args[index - 1] === '--remount-ro');
        return args.toSpliced(at - 1, 2);
      });
      expect((await run(loose, '', attack())).text).toContain('/\n');
    });

    test('a sparse file of 100 GB fails, and so does one of a petabyte', async () => {
      for (const size of ['100G', '1P']) {
        const attack = () => sh(`truncate -s ${size} sparse && echo made; rm -f sparse`);
        if (size === '100G') expect((await run(processLevel, '', attack())).text).toBe('made\n');
        expect((await run(room({ limits: { fileSizeBytes: 1024 * 1024 } }), '', attack())).text).toBe('');
      }
    });

    test('using up handles and leaving cores fails', async () => {
      const open = () =>
        perl('my @h; while (@h < 500 && open(my $f, "<", "/dev/null")) { push @h, $f } print scalar @h');
      expect((await run(processLevel, '', open())).text).toBe('500');
      expect(Number((await run(room({ limits: { openFiles: 64 } }), '', open())).text)).toBeLessThan(64);
      const core = () => sh('ulimit -c unlimited 2>/dev/null; ulimit -c');
      expect((await run(room(), '', core())).text).toBe('0\n');
      if (process.getuid?.() === 0) expect((await run(processLevel, '', core())).text).toBe('unlimited\n');
    });

    test('changing the kernel fails, also when root runs the server', async () => {
      // What is written is what is there already, so the control that gets through changes nothing.
      const attack = () =>
        sh('v=$(cat /proc/sys/kernel/core_pattern); printf %s "$v" >/proc/sys/kernel/core_pattern && echo changed');
      expect((await run(room(), '', attack())).text).toBe('');
      if (process.getuid?.() !== 0) return;
      const uncovered = altered(room(), (args) => {
        const at = args.findIndex((argument, index) => argument === '/proc/sys' && args[index - 1] === '--ro-bind');
        return args.toSpliced(at - 1, 3);
      });
      expect((await run(uncovered, '', attack())).text).toBe('changed\n');
    });

    test('overwriting the program that confines fails', async () => {
      const { text } = await run(
        room(),
        '',
        sh('for e in /proc/1/exe /proc/self/exe; do : >> $e && echo $e; done 2>/dev/null'),
      );
      expect(text).toBe('');
    });
  });

  describe('the network (P12)', () => {
    const SPELLINGS = [
      '127.0.0.1',
      '127.1',
      '2130706433',
      '0x7f000001',
      '0177.0.0.1',
      '017700000001',
      '0.0.0.0',
      'localhost',
    ];
    const dial = () =>
      perl(`use Socket; my $n = 0; for my $h (qw(${SPELLINGS.join(' ')})) { socket my $s, PF_INET, SOCK_STREAM, 0 or next; my $a = inet_aton($h) or next; connect $s, pack_sockaddr_in(${port}, $a) and $n++ }
        for my $h (qw(::1 ::ffff:127.0.0.1)) { socket my $s, PF_INET6, SOCK_STREAM, 0 or next; connect $s, pack_sockaddr_in6(${port}, Socket::inet_pton(AF_INET6, $h)) and $n++ } print $n`);

    test('the loopback of the machine, in every spelling, is out of reach', async () => {
      expect(Number((await run(processLevel, '', dial())).text)).toBeGreaterThanOrEqual(SPELLINGS.length);
      const networks: NetworkPolicy[] = [
        { kind: 'none' },
        { kind: 'loopback' },
        { kind: 'allow', hosts: ['example.com:443'] },
        { kind: 'full' },
      ];
      for (const network of networks) expect((await run(room({ network }), '', dial())).text).toBe('0');
      const shared = altered(room({ network: { kind: 'loopback' } }), without('--unshare-net', 0));
      expect(Number((await run(shared, '', dial())).text)).toBeGreaterThan(0);
    });

    test('nor does the proxy lead there, or to metadata, whatever it is asked in', async () => {
      const hosts = [
        ...SPELLINGS,
        '[::1]',
        '[::ffff:127.0.0.1]',
        '[::ffff:7f00:1]',
        '169.254.169.254',
        '2852039166',
        '0xa9fea9fe',
        '[fd00:ec2::254]',
        '127.0.0.1.',
        'LOCALHOST.',
      ];
      const ask = perl(
        `use Socket; for my $h (qw(${hosts.join(' ')})) { socket my $s, PF_INET, SOCK_STREAM, 0; connect $s, pack_sockaddr_in(3128, INADDR_LOOPBACK) or die; syswrite $s, "CONNECT $h:${port} HTTP/1.1\\r\\n\\r\\n"; my $line = <$s>; print "$h $line" if $line !~ / 403 / }`,
      );
      const { text, exitCode } = await run(room({ network: { kind: 'full' } }), '', ask);
      expect({ text, exitCode }).toEqual({ text: '', exitCode: 0 });
      const open = room({ network: { kind: 'full', hosts: [`127.0.0.1:${port}`] } });
      expect((await run(open, '', ask)).text).toMatch(/^127\.0\.0\.1 HTTP\/1\.1 200/);
    });

    test('packets, pings and name servers are out of reach too', async () => {
      const probe = perl(
        'use Socket; my @open; for ([PF_INET, SOCK_RAW, 1], [PF_INET, SOCK_DGRAM, 1], [17, SOCK_RAW, 0], [40, SOCK_STREAM, 0]) { push @open, "@$_" if socket my $s, $_->[0], $_->[1], $_->[2] } socket my $u, PF_INET, SOCK_DGRAM, 17; push @open, "udp" if send $u, "x", 0, pack_sockaddr_in(53, inet_aton("8.8.8.8")); print join ",", @open',
      );
      const { text } = await run(room({ network: { kind: 'full' } }), '', probe);
      expect(text.replace('2 2 1', '')).toBe('');
      if (process.getuid?.() === 0) expect((await run(processLevel, '', probe)).text).toContain('2 3 1');
    });
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { Attack } from './attack.js';
import { exported, type Fortress, SECRET } from './fortress.js';

/** Names and versions that must never reach an installer. */
const NAMES: readonly (readonly [id: string, request: Record<string, unknown>])[] = [
  ['T01', { packageName: '--registry=http://evil.example' }],
  ['T01', { packageName: '-g' }],
  ['T01', { packageName: '--ignore-scripts=false' }],
  ['T01', { packageName: '--prefix=/' }],
  ['T01', { packageName: 'plain', version: '--globalconfig=/tmp/x' }],
  ['T02', { packageName: 'git+ssh://git@github.com/a/b' }],
  ['T02', { packageName: 'github:a/b' }],
  ['T02', { packageName: 'http://evil.example/x.tgz' }],
  ['T02', { packageName: 'file:../../x' }],
  ['T02', { packageName: 'plain', version: 'link:../x' }],
  ['T02', { packageName: 'plain', version: 'workspace:*' }],
  ['T02', { packageName: 'plain', version: 'npm:other@1' }],
  ['T02', { packageName: '@scope/../x' }],
  ['T02', { packageName: '..' }],
  ['T02', { packageName: '/etc/passwd' }],
  ['T02', { packageName: 'node_modules' }],
  ['T02', { packageName: 'favicon.ico' }],
  ['T02', { packageName: 'a'.repeat(215) }],
  ['T02', { packageName: '%2e%2e%2fx' }],
  ['T02', { packageName: 'a\u0000b' }],
  ['T02', { packageName: 'pl\u0430in' }],
  ['T02', { packageName: '_plain' }],
  ['T04', { packageName: 'plain; touch /tmp/x' }],
  ['T04', { packageName: 'plain', version: '$(id)' }],
  ['T04', { packageName: 'plain', env: { 'A;B': '1' } }],
  ['T09', { packageName: 'plain', env: { NODE_OPTIONS: '--require /tmp/x' } }],
  ['T09', { packageName: 'plain', env: { LD_PRELOAD: '/tmp/x.so' } }],
  ['T09', { packageName: 'plain', env: { 'A=B': '1' } }],
  ['T09', { packageName: 'plain', env: { A: 'x\u0000y' } }],
  ['T09', { packageName: 'plain', env: { A: 'x'.repeat(2 ** 20) } }],
];

const refusedNames: readonly Attack[] = NAMES.map(([id, request]) => ({
  id,
  what: `asking for ${JSON.stringify(request).slice(0, 60)}`,
  attack: async (fortress) => {
    const before = fortress.registry.requests.length;
    const answer = await fortress.post('/execute-tool', { name: 'add', params: { a: 1, b: 2 }, ...request });
    return { ...answer, asked: fortress.registry.requests.length - before };
  },
  expected: (answer) => {
    expect(answer.success).toBe(false);
    expect(answer.asked).toBe(0);
  },
}));

const run = (body: string): string => exported('run', `async () => { ${body} }`);
const tool = (id: string, what: string, source: string, expected: Attack['expected'], more: object = {}): Attack => ({
  id,
  what: `a tool that ${what}`,
  attack: (fortress) => fortress.tool(packageNameOf(id, what), source),
  expected,
  ...more,
});
const packageNameOf = (id: string, what: string): string =>
  `${id}-${what}`
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 60);

const failed = { success: false };
const SPREAD = `const { spawn } = await import('node:child_process');
const child = spawn('setsid', ['sh', '-c', 'setsid sleep 47.11 & sleep 47.11'], { detached: true, stdio: 'ignore' });
child.unref();`;

/** Nothing that slept so remarkably long is alive. */
async function noDaemon(): Promise<void> {
  const { readdirSync, readFileSync } = await import('node:fs');
  await expect
    .poll(
      () =>
        readdirSync('/proc').filter((pid) => {
          try {
            return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('47.11');
          } catch {
            return false;
          }
        }),
      { timeout: 5_000 },
    )
    .toEqual([]);
}

/** What only namespaces can stop: at the level `process` a tool is this user. */
const confined: readonly Attack[] = [
  {
    id: 'P12',
    what: 'a tool that looks for secrets of the server in its files, environment and memory',
    levels: ['container'],
    attack: (fortress: Fortress) =>
      fortress.tool(
        `p12-secrets-${fortress.level}`,
        run(`const fs = await import('node:fs'); const found = [];
          const look = (path) => { try { found.push(fs.readFileSync(path, 'latin1')) } catch {} };
          look('${fortress.treasure}'); look('/etc/shadow'); look('/proc/${fortress.pid}/environ'); look('/proc/self/root/etc/shadow');
          for (const pid of fs.readdirSync('/proc')) { look('/proc/' + pid + '/environ'); look('/proc/' + pid + '/cmdline') }
          return found.join('')`),
      ),
    expected: (answer) => {
      expect(answer.success).toBe(true);
      expect(answer.output).not.toContain(SECRET);
      expect(answer.output).not.toContain('root:');
    },
  },
  {
    id: 'P12',
    what: 'a tool that talks to the server itself, loopback and metadata, however they are spelled',
    levels: ['container'],
    attack: (fortress: Fortress) =>
      fortress.tool(
        `p12-network-${fortress.level}`,
        run(`const port = ${new URL(fortress.url).port};
          const hosts = ['127.0.0.1', 'localhost', '127.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0'].map((h) => h + ':' + port);
          const urls = [...hosts.map((h) => 'http://' + h + '/metrics'), 'http://169.254.169.254/', 'http://[fd00:ec2::254]/', 'http://metadata.google.internal/'];
          return await Promise.all(urls.map((u) => fetch(u, { signal: AbortSignal.timeout(2000) }).then((r) => u, () => '')))`),
      ),
    expected: (answer) => expect([...new Set(answer.output)]).toEqual(['']),
  },
  {
    id: 'T08',
    what: 'a tool that changes its own package for the next caller',
    levels: ['container'],
    attack: async (fortress) => {
      const source = run(`const fs = await import('node:fs'); const { fileURLToPath } = await import('node:url');
        try { fs.chmodSync(fileURLToPath(import.meta.url), 0o777) } catch {}
        try { fs.writeFileSync(fileURLToPath(import.meta.url), 'export const run = () => "poisoned"') } catch {} return 'clean'`);
      await fortress.tool('t08-poison', source);
      return fortress.post('/execute-tool', { packageName: 't08-poison', name: 'run', params: {} });
    },
    expected: { success: true, output: 'clean' },
  },
  {
    id: 'T08',
    what: 'a tool that forks without end',
    levels: ['container'],
    attack: (fortress) =>
      fortress.tool(
        't08-fork-bomb',
        run(`const { spawn } = await import('node:child_process');
          const script = 'i=0; while [ $i -lt 400 ]; do sleep 30 & i=$((i+1)); done; wait';
          for (let i = 0; i < 3; i += 1) spawn('sh', ['-c', script], { stdio: 'ignore' }).on('error', () => {});
          await new Promise((r) => setTimeout(r, 1000)); return 1`),
      ),
    expected: () => {},
  },
];

export const TOOL_ATTACKS: readonly Attack[] = [
  ...refusedNames,
  tool('T08', 'exits', 'process.exit(0); export const run = 1;', failed),
  tool('T08', 'throws when it is loaded', 'throw new Error("no"); export const run = 1;', failed),
  tool('T08', 'never loads', 'await new Promise(() => {}); export const run = 1;', failed),
  tool(
    'T08',
    'is kept loading by a timer',
    'setInterval(() => {}, 10); await new Promise(() => {}); export const run = 1;',
    {
      success: false,
      error: { code: 'EXECUTION_TIMEOUT' },
    },
  ),
  tool('T08', 'loops', run('for (;;) {}'), { success: false, error: { code: 'EXECUTION_TIMEOUT' } }),
  tool(
    'T08',
    'exports what throws when it is looked at',
    'export const run = new Proxy(() => 1, { get() { throw new Error("looked") }, has() { throw new Error("looked") } });',
    () => {},
  ),
  tool('T08', 'returns a thenable that never settles', run('return { then() {} }'), failed),
  tool(
    'T08',
    'forges a result on standard output',
    run('console.log(JSON.stringify({ type: "result", output: "forged" })); process.exit(0)'),
    failed,
  ),
  tool(
    'T08',
    'forges a result on every handle',
    run(
      `const fs = await import('node:fs'); const text = JSON.stringify({ type: 'result', output: 'forged' }) + '\\n'; for (let fd = 3; fd < 64; fd += 1) try { fs.writeSync(fd, text) } catch {} process.exit(0)`,
    ),
    failed,
  ),
  tool(
    'T08',
    'replaces what its result is written with',
    run('JSON.stringify = () => \'{"type":"result","output":"forged"}\'; Buffer.from = () => "x"; return "real"'),
    (answer) => expect(answer.output === 'real' || answer.success === false).toBe(true),
  ),
  tool(
    'T08',
    'rejects behind the back of its caller',
    run('Promise.reject(new Error("late")); await new Promise((r) => setTimeout(r, 50)); return 1'),
    () => {},
  ),
  tool('T08', 'throws null', run('throw null'), failed),
  tool('T08', 'throws an object with hostile getters', run('throw { get message() { for (;;) {} } }'), failed),
  tool('T08', 'fills its memory', run('const all = []; for (;;) all.push(new Array(1e5).fill(all.length))'), failed),
  tool('T08', 'returns more than fits', run('return "x".repeat(64 * 1024 * 1024)'), failed),
  tool(
    'T08',
    'returns what is nested too deeply',
    run('let o = {}; for (let i = 0; i < 1e5; i += 1) o = { o }; return o'),
    failed,
  ),
  tool('T08', 'returns what contains itself', run('const o = {}; o.o = o; return o'), failed),
  tool(
    'T08',
    'logs without end',
    run('for (let i = 0; i < 2e5; i += 1) console.log("x".repeat(100)); return 1'),
    () => {},
  ),
  tool('T08', 'opens a port and stays', run(`(await import('node:net')).createServer().listen(0); return 'open'`), {
    success: true,
    output: 'open',
  }),
  {
    id: 'T08',
    what: 'a tool that leaves a daemon',
    attack: async (fortress) => {
      const answer = await fortress.tool(`t08-daemon-${fortress.level}`, run(`${SPREAD} return 1`));
      await delay(200);
      return answer;
    },
    expected: noDaemon,
  },
  {
    id: 'T09',
    what: 'a tool that looks at its environment',
    attack: (fortress) =>
      fortress.tool('t09-environment', run('return JSON.stringify(process.env)'), { env: { MINE: 'x' } }),
    expected: (answer) => {
      expect(answer.output).toContain('MINE');
      expect(answer.output).not.toContain(SECRET);
    },
  },
  {
    id: 'T05',
    what: 'a package with install scripts',
    attack: async (fortress) => {
      const scripts = { preinstall: `touch ${fortress.work}/owned`, postinstall: `touch ${fortress.work}/owned` };
      fortress.registry.tool('t05-scripts', run('return 1'), { manifest: { scripts } });
      return fortress.post('/execute-tool', { packageName: 't05-scripts', name: 'run', params: {} });
    },
    expected: (answer, fortress) => {
      expect(answer.success).toBe(true);
      expect(fortress.inventory().files).not.toContain('owned');
    },
  },
  {
    id: 'T06',
    what: 'a package with files that lead out of it',
    attack: async (fortress) => {
      fortress.registry.tool('t06-slip', run('return 1'), {
        entries: [
          { path: 'package/../../../escaped', content: 'x' },
          { path: '/tmp/sallyport-escaped', content: 'x' },
          { path: 'package/link', type: '2', link: '/etc/passwd' },
        ],
      });
      return fortress.post('/execute-tool', { packageName: 't06-slip', name: 'run', params: {} });
    },
    expected: async () => {
      const { existsSync } = await import('node:fs');
      expect(existsSync('/tmp/sallyport-escaped')).toBe(false);
    },
  },
  ...confined,
];

import { randomBytes } from 'node:crypto';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { Attack } from './attack.js';
import { type Answer, SECRET } from './fortress.js';

const json = (value: unknown): string => JSON.stringify(value);
const request = (id: unknown, method: string, params: unknown = {}): string =>
  json({ jsonrpc: '2.0', id, method, params });
const HELLO = [
  request(0, 'initialize', { clientName: 'attacker' }),
  json({ jsonrpc: '2.0', method: 'initialized', params: {} }),
];

/** Either an error of the protocol, or the end of the connection; never a result. */
const refused = (heard: Answer[]): void => {
  const last = heard.at(-1);
  expect(last.error ?? last.closed, json(last)).toBeDefined();
};

const messages = (id: string, what: string, sent: readonly (string | Uint8Array)[], answers: number): Attack => ({
  id,
  what,
  attack: (fortress) => fortress.talk('/exec', sent, answers),
  expected: refused,
});

const protocol: readonly Attack[] = [
  messages('P01', 'a start before everything', [request(1, 'process/start', { processId: 'p' })], 1),
  messages('P01', 'a second hello', [...HELLO, request(1, 'initialize', { clientName: 'again' })], 2),
  messages('P01', 'an answer that nobody asked for', [...HELLO, json({ jsonrpc: '2.0', id: 99, result: 1 })], 2),
  messages('P01', 'a list of requests', [json([{ jsonrpc: '2.0', id: 1, method: 'initialize' }])], 1),
  messages('P01', 'a method that is inherited', [...HELLO, request(1, '__proto__')], 2),
  messages('P01', 'a method that is called constructor', [...HELLO, request(1, 'constructor')], 2),
  messages('P01', 'parameters that are a list', [...HELLO, request(1, 'process/start', [1])], 2),
  messages(
    'P03',
    'two million zeros',
    [...HELLO, request(1, 'process/start', { argv: new Array(2_100_000).fill(0) })],
    2,
  ),
  messages('P04', 'bytes instead of text', [randomBytes(64)], 1),
  messages('P04', 'nothing', [''], 1),
  messages('P04', 'text that is no JSON', ['{"jsonrpc":'], 1),
  messages('P04', 'nesting without end', ['['.repeat(200_000)], 1),
  messages(
    'P06',
    'no program',
    [...HELLO, request(1, 'process/start', { processId: 'p', argv: [], cwd: '/tmp', env: {}, tty: false })],
    2,
  ),
  messages(
    'P06',
    'a program with a NUL',
    [...HELLO, request(1, 'process/start', { processId: 'p', argv: ['a\u0000b'], cwd: '/tmp', env: {}, tty: false })],
    2,
  ),
  messages(
    'P06',
    'arguments of three megabytes',
    [
      ...HELLO,
      request(1, 'process/start', {
        processId: 'p',
        argv: ['true', 'x'.repeat(3e6)],
        cwd: '/tmp',
        env: {},
        tty: false,
      }),
    ],
    2,
  ),
  messages(
    'P06',
    'a folder that is relative',
    [...HELLO, request(1, 'process/start', { processId: 'p', argv: ['true'], cwd: 'tmp', env: {}, tty: false })],
    2,
  ),
  messages(
    'P08',
    'input for nobody',
    [...HELLO, request(1, 'process/write', { processId: 'nobody', chunk: 'eA==' })],
    2,
  ),
  messages('P09', 'output of nobody', [...HELLO, request(1, 'process/read', { processId: 'nobody', afterSeq: -1 })], 2),
  messages(
    'P11',
    'a terminal of no size',
    [
      ...HELLO,
      request(1, 'process/start', {
        processId: 'p',
        argv: ['true'],
        cwd: '/tmp',
        env: {},
        tty: true,
        size: { rows: 0, cols: 70_000 },
      }),
    ],
    2,
  ),
];

/** Starts a command and goes without a word. */
const abandon =
  (script: string) =>
  (fortress: { url: string; work: string }): Promise<Answer> =>
    new Promise((resolve) => {
      const socket = new WebSocket(`${fortress.url.replace('http', 'ws')}/exec`);
      socket.on('error', () => {});
      socket.on('open', () => {
        for (const message of HELLO) socket.send(message);
        const params = { processId: 'p', argv: ['sh', '-c', script], cwd: fortress.work, env: {}, tty: false };
        socket.send(request(1, 'process/start', params));
      });
      socket.on('message', (data) => {
        if (JSON.parse(String(data)).id !== 1) return;
        socket.terminate();
        resolve('gone');
      });
    });

const commands: readonly Attack[] = [
  {
    id: 'P09',
    what: 'a flood of output that is read',
    attack: (f) => f.command('yes | head -c 30000000', { timeoutMs: 20_000 }),
    expected: { exitCode: 0 },
  },
  { id: 'P09', what: 'a flood that nobody reads', attack: abandon('yes'), expected: /gone/ },
  {
    id: 'P10',
    what: 'a command that ignores being asked to end',
    attack: (f) => f.command("trap '' TERM INT HUP; sleep 47.11", { timeoutMs: 500 }),
    expected: {},
  },
  {
    id: 'P10',
    what: 'a command that stops itself',
    attack: (f) => f.command('kill -STOP $$', { timeoutMs: 500 }),
    expected: {},
  },
  {
    id: 'P10',
    what: 'a grandchild that holds the pipe',
    attack: abandon('sleep 47.11 & sleep 47.11'),
    expected: /gone/,
  },
  {
    id: 'P10',
    what: 'a daemon',
    levels: ['container'],
    attack: (f) => f.command('setsid setsid sleep 47.11 & echo left', { timeoutMs: 2_000 }),
    expected: {},
  },
  {
    id: 'P10',
    what: 'a bomb of forks',
    levels: ['container'],
    attack: (f) =>
      f.command('i=0; while [ $i -lt 600 ]; do sleep 20 & i=$((i+1)); done 2>/dev/null; echo', { timeoutMs: 3_000 }),
    expected: {},
  },
  {
    id: 'P10',
    what: 'a bomb of memory',
    levels: ['container'],
    attack: (f) => f.command('head -c 3000000000 /dev/zero | tail', { timeoutMs: 20_000 }),
    expected: (end) => expect(end.exitCode).not.toBe(0),
  },
  {
    id: 'P10',
    what: 'filling the disk',
    levels: ['container'],
    attack: (f) => f.command('head -c 2000000000 /dev/zero > /tmp/full; echo $?', { timeoutMs: 30_000 }),
    expected: { text: expect.stringMatching(/No space left.*\n1\n$/s) },
    withinMs: 120_000,
  },
  {
    id: 'P11',
    what: 'escape sequences',
    attack: (f) => f.command(String.raw`printf '\033]52;c;b3duZWQ=\007\033]0;owned\007\033P$q"p\033\\'`),
    expected: { exitCode: 0 },
  },
  {
    id: 'P12',
    what: 'reading what belongs to somebody else',
    levels: ['container'],
    attack: (f) =>
      f.command(
        `cat ${f.treasure} /proc/self/root${f.treasure} ../treasure /etc/shadow; cat /proc/*/environ | tr '\\0' ' '; ls -l /proc/*/fd`,
      ),
    expected: (end) => {
      expect(end.text).not.toContain(SECRET);
      expect(end.text).not.toContain('root:');
    },
  },
  {
    id: 'P12',
    what: 'reading the environment of the server by its number',
    levels: ['container'],
    attack: (f) => f.command(`cat /proc/${f.pid}/environ /proc/${f.pid}/maps /proc/${f.pid}/root${f.treasure}`),
    expected: (end) => expect(end.text).not.toContain(SECRET),
  },
  {
    id: 'P13',
    what: 'links that lead out of the folder',
    levels: ['container'],
    attack: (f) => f.command(`ln -s ${f.treasure} link; ln ${f.treasure} hard; cat link hard; rm -f link hard`),
    expected: (end) => expect(end.text).not.toContain(SECRET),
  },
  {
    id: 'P13',
    what: 'a pipe in the place of a file',
    attack: (f) => f.command('mkfifo pipe && rm pipe'),
    expected: { exitCode: 0 },
  },
  {
    id: 'P13',
    what: 'removing everything',
    levels: ['container'],
    attack: (f) => f.command('rm -rf /usr/bin /etc 2>/dev/null; ls /usr/bin | head -1'),
    expected: (end) => expect(end.text).not.toBe(''),
  },
];

export const PROCESS_ATTACKS: readonly Attack[] = [...protocol, ...commands];

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { WebSocket } from 'ws';
import type { Attack } from './attack.js';
import { type Answer, exported, type Fortress, SECRET } from './fortress.js';

const ONE = exported('run', '() => 1');

const sockets = (fortress: Fortress, path: string, count: number): Promise<WebSocket[]> =>
  Promise.all(
    Array.from(
      { length: count },
      () =>
        new Promise<WebSocket>((resolve) => {
          const socket = new WebSocket(`${fortress.url.replace('http', 'ws')}${path}`);
          socket.on('error', () => resolve(socket));
          socket.on('open', () => resolve(socket));
        }),
    ),
  );

const close = (all: readonly WebSocket[]): void => {
  for (const socket of all) socket.terminate();
};

const execute = (id: string, code: string, more: object = {}): string =>
  JSON.stringify({ type: 'execute', id, code, options: {}, providers: [], ...more });

/** What no list names: combinations, the seams between boundaries, and what a person would try next. */
export const OWN_ATTACKS: readonly Attack[] = [
  {
    id: 'S01',
    what: 'a hundred sockets that say nothing',
    attack: async (fortress) => close(await sockets(fortress, '/exec', 100)),
    expected: () => {},
  },
  {
    id: 'S02',
    what: 'programs whose callers leave at once',
    attack: async (fortress) => {
      const calls = Array.from({ length: 20 }, () =>
        fetch(`${fortress.url}/run`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"code":"for(;;){}","timeoutMs":60000}',
          signal: AbortSignal.timeout(100),
        }).catch(() => 'gone'),
      );
      return Promise.all(calls);
    },
    expected: (answers) => expect(new Set(answers)).toEqual(new Set(['gone'])),
  },
  {
    id: 'S03',
    what: 'tools whose callers leave while they are installed',
    attack: async (fortress) => {
      fortress.registry.tool('s03-slow', ONE, { delay: 500 });
      return Promise.all(
        Array.from({ length: 10 }, () =>
          fetch(`${fortress.url}/execute-tool`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"packageName":"s03-slow","name":"run","params":{}}',
            signal: AbortSignal.timeout(50),
          }).catch(() => 'gone'),
        ),
      );
    },
    expected: () => {},
  },
  {
    id: 'S04',
    what: 'one execution of a socket after the other, with the same id',
    attack: (fortress) => fortress.talk('/guest', [execute('a', '1'), execute('a', '2'), execute('a', '3')], 4),
    expected: (heard: Answer[]) => expect(heard.filter(({ type }) => type === 'started').length).toBeGreaterThan(0),
  },
  {
    id: 'S05',
    what: 'a guest of a socket whose host never answers its tools',
    attack: (fortress) =>
      fortress.talk(
        '/guest',
        [
          execute('a', 'await host.ask({})', {
            options: { timeoutMs: 300 },
            providers: [{ name: 'host', tools: { ask: { safeName: 'ask', originalName: 'ask' } }, types: '' }],
          }),
        ],
        3,
      ),
    expected: (heard: Answer[]) => expect(heard.at(-1)).toMatchObject({ type: 'done', error: { code: 'timeout' } }),
  },
  {
    id: 'S06',
    what: 'results of tools that nobody called',
    attack: (fortress) =>
      fortress.talk(
        '/guest',
        [JSON.stringify({ type: 'tool_result', callId: 'x', ok: true, result: 1 }), execute('a', '1')],
        2,
      ),
    expected: () => {},
  },
  {
    id: 'S07',
    what: 'asking for the executions of everybody, with a page size without end',
    attack: (fortress) =>
      fortress.raw(['GET /executions?limit=1e9&cursor=-1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n']),
    expected: (text: string) => expect(text.length).toBeLessThan(5_000_000),
  },
  {
    id: 'S08',
    what: 'ending executions by names that are none',
    attack: async (fortress) => {
      const ids = ['__proto__', 'constructor', '..%2f..', '%00', 'x'.repeat(5_000)];
      return Promise.all(
        ids.map(async (id) => (await fetch(`${fortress.url}/executions/${id}`, { method: 'DELETE' })).status),
      );
    },
    expected: (statuses: number[]) => expect(statuses.every((status) => status >= 400 && status < 500)).toBe(true),
  },
  {
    id: 'S09',
    what: 'readers of events that never read',
    attack: async (fortress) => {
      const stop = new AbortController();
      const readers = Array.from({ length: 40 }, () =>
        fetch(`${fortress.url}/events`, { signal: stop.signal }).then(
          ({ status }) => status,
          () => 0,
        ),
      );
      const statuses = await Promise.all(readers);
      stop.abort();
      return statuses;
    },
    expected: (statuses: number[]) =>
      expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(32),
  },
  {
    id: 'S10',
    what: 'a package that depends on itself, and one that depends on nothing that exists',
    attack: async (fortress) => {
      fortress.registry.tool('s10-loop', ONE, {
        manifest: { dependencies: { 's10-loop': '*' } },
      });
      fortress.registry.tool('s10-gone', ONE, {
        manifest: { dependencies: { 'does-not-exist': '*' } },
      });
      const call = (packageName: string) => fortress.post('/execute-tool', { packageName, name: 'run', params: {} });
      return Promise.all([call('s10-loop'), call('s10-gone')]);
    },
    expected: (answers: Answer[]) => expect(answers[1].success).toBe(false),
  },
  {
    id: 'S11',
    what: 'a registry that never sends the package',
    attack: async (fortress) => {
      fortress.registry.tool('s11-never', ONE, { delay: 'never' });
      const stop = AbortSignal.timeout(1_000);
      const call = fetch(`${fortress.url}/execute-tool`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"packageName":"s11-never","name":"run","params":{}}',
        signal: stop,
      });
      return call.then(
        () => 'answered',
        () => 'gave up',
      );
    },
    expected: /gave up/,
  },
  {
    id: 'S12',
    what: 'a package whose integrity is a lie',
    attack: (fortress) => {
      fortress.registry.tool('s12-lie', ONE, { integrity: `sha512-${'A'.repeat(86)}==` });
      return fortress.post('/execute-tool', { packageName: 's12-lie', name: 'run', params: {} });
    },
    expected: { success: false },
  },
  {
    id: 'S13',
    what: 'a tool that kills its parents',
    attack: (fortress) =>
      fortress.tool(
        `s13-kill-${fortress.level}`,
        exported(
          'run',
          `() => { try { process.kill(process.ppid, 'SIGSTOP') } catch {} try { process.kill(-1, 0) } catch {} return 1 }`,
        ),
      ),
    expected: () => {},
    // At the level process the parent is the server itself, of the same user: nothing keeps it from being stopped.
    levels: ['container'],
  },
  {
    id: 'S14',
    what: 'a command that floods its own folder with files',
    attack: (fortress) =>
      fortress.command('i=0; while [ $i -lt 2000 ]; do : > f$i; i=$((i+1)); done; rm -f f*', { timeoutMs: 20_000 }),
    expected: { exitCode: 0 },
  },
  {
    id: 'S15',
    what: 'a folder for commands that is the cache, the home or the root',
    levels: ['container'],
    attack: (fortress) =>
      Promise.all(
        ['../cache', '../home', '../tmp/..'].map((path) =>
          fortress
            .command('echo inside; touch x', { cwd: `${fortress.work}/${path}` })
            .catch((error: Error) => error.message),
        ),
      ),
    expected: (answers: Answer[]) => {
      for (const answer of answers) expect(String(answer)).toMatch(/may not work there|not visible|cannot start/);
    },
  },
  {
    id: 'S16',
    what: 'reading the treasure over fs/*',
    levels: ['container'],
    attack: async (fortress) => {
      const { ExecClient } = await import('../../../src/process/index.js');
      const client = await ExecClient.connectWebSocket(`${fortress.url.replace('http', 'ws')}/exec`);
      const { realpathSync } = await import('node:fs');
      const tries = [
        '/etc/shadow',
        `/proc/${fortress.pid}/environ`,
        `/proc/self/environ`,
        realpathSync(`${fortress.work}/../cache`),
      ];
      const read = await Promise.all(
        tries.map((path) =>
          client.fs.readFile(path).then(
            (bytes) => Buffer.from(bytes).toString(),
            () => 'refused',
          ),
        ),
      );
      await client.close();
      return read;
    },
    expected: (answers: string[]) => expect(answers.join('')).not.toContain(SECRET),
  },
  {
    id: 'S17',
    what: 'one socket after the other, five hundred times',
    attack: async (fortress) => {
      for (let round = 0; round < 25; round += 1) close(await sockets(fortress, '/guest', 20));
      await delay(100);
    },
    expected: () => {},
  },
  {
    id: 'S18',
    what: 'a hundred calls of a Wasm module at once',
    attack: (fortress) => Promise.all(Array.from({ length: 100 }, (_, n) => fortress.post('/wasm/guest/add', [n, 1]))),
    expected: (answers: Answer[]) => {
      for (const [n, answer] of answers.entries()) expect([n + 1, undefined]).toContain(answer.result);
    },
    withinMs: 120_000,
  },
  {
    id: 'S19',
    what: 'all boundaries at once, cut off in the middle',
    attack: async (fortress) => {
      const post = (path: string, body: string) =>
        fetch(`${fortress.url}${path}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
          signal: AbortSignal.timeout(150),
        }).catch(() => 'gone');
      return Promise.all(
        Array.from({ length: 8 }, () => [
          post('/run', '{"code":"await tools.never()"}'),
          post('/wasm/guest/add', '[1,2]'),
          post('/execute-tool', '{"packageName":"plain","name":"add","params":{}}'),
        ]).flat(),
      );
    },
    expected: () => {},
  },
  {
    id: 'S20',
    what: 'a program that writes its code into the log',
    attack: (fortress) => fortress.post('/run', { code: `console.log('\\u001b[2J${SECRET}'); return 1` }),
    expected: (answer, fortress) => {
      expect(answer.ok).toBe(true);
      expect(fortress.log).not.toContain('\u001b');
    },
  },
];

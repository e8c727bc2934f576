import { readdirSync } from 'node:fs';
import { afterAll, describe, expect, test } from 'vitest';
import { createSpawner, type IsolationLevel, processLevel, type SpawnRequest } from '../../src/sandbox/index.js';
import { readProcessTable } from '../../src/sandbox/process-table.js';
import { alive, gone, numbers, PATH, result, shell, shows, terminal } from './helpers.js';

const spawner = createSpawner();
afterAll(() => spawner.dispose());

const kinds: [string, SpawnRequest['stdio']][] = [
  ['pipes', { kind: 'pipes', stdin: 'null' }],
  ['a terminal', { kind: 'terminal', rows: 24, cols: 80 }],
];

describe.each(kinds)('a child with %s', (kind, stdio) => {
  const start = (script: string, more: Partial<SpawnRequest> = {}) => spawner.spawn(shell(script, { stdio, ...more }));

  test('reports its exit code and how long it ran', async () => {
    const exit = await result(await start('exit 7'));
    expect(exit).toMatchObject({ exitCode: 7, signal: null, timedOut: false });
    expect(exit.usage.wallMs).toBeGreaterThan(0);
  });

  test('keeps the program from leaving before it has ended, whoever waited for it before', async () => {
    const held = () => process.getActiveResourcesInfo().filter((name) => name === 'ProcessWrap').length;
    const child = await start('sleep 30');
    const holding = held();
    child.eventLoop('release');
    const released = held();
    const ended = child.terminate();
    expect([released, held()]).toEqual([holding - 1, holding]);
    await ended;
  });

  test('reports the signal that ended it', async () => {
    expect(await result(await start('kill -USR1 $$'))).toMatchObject({ exitCode: null, signal: 'SIGUSR1' });
  });

  test('has exactly the environment it was given', async () => {
    const env = JSON.parse('{"A":"1","__proto__":"p","B-C":"ü"}');
    const { text } = await result(await spawner.spawn(shell('', { argv: ['/usr/bin/env'], env, stdio })));
    expect(text.trim().split(/\r?\n/).sort()).toEqual(['A=1', 'B-C=ü', '__proto__=p']);
    const empty = await result(await spawner.spawn(shell('', { argv: ['env'], env: {}, stdio })));
    expect(empty.text).toBe('');
  });

  test('starts in the folder it was given', async () => {
    expect((await result(await start('pwd', { cwd: '/usr' }))).text.trim()).toBe('/usr');
  });

  test('leads its own session', async () => {
    const child = await start('cut -d" " -f1,5,6 /proc/$$/stat');
    const { pid } = child;
    expect(numbers((await result(child)).text)).toEqual([pid, pid, pid]);
    expect(child.processGroup).toBe(pid);
  });

  test('is told another name without another program being run', async () => {
    const argv = ['cat', '/proc/self/cmdline'];
    const renamed = await spawner.spawn(shell('', { argv, arg0: '-odd name', env: { PATH, LC_ALL: 'xx_XX' }, stdio }));
    expect((await result(renamed)).text).toBe('-odd name\0/proc/self/cmdline\0');
    const plain = await spawner.spawn(shell('', { argv, stdio }));
    expect((await result(plain)).text).toBe('cat\0/proc/self/cmdline\0');
  });

  test('keeps its environment when renamed and limited at once', async () => {
    const limits = { openFiles: 50 };
    const child = await spawner.spawn(shell('', { argv: ['/usr/bin/env'], arg0: 'x', env: { A: '1' }, limits, stdio }));
    expect((await result(child)).text.trim()).toBe('A=1');
  });

  test('has no handles but its own', async () => {
    // Another terminal is open meanwhile, whose master must not be seen.
    await using other = await spawner.spawn(terminal('sleep 60'));
    const { text } = await result(await start('ls -l /proc/self/fd'));
    expect(other.pid).toBeGreaterThan(0);
    const targets = [...text.matchAll(/(\d+) -> (\S+)/g)].map(([, handle, target]) => [Number(handle), target ?? '']);
    const beyond = targets.filter(
      ([handle, target]) => Number(handle) > 2 && !/^\/proc\/|^\/dev\/null$/.test(`${target}`),
    );
    expect(beyond).toEqual([]);
    expect(targets.length).toBeGreaterThan(2);
  });

  test('obeys limits of the kernel', async () => {
    const limits = {
      openFiles: 77,
      cpuSeconds: 9,
      fileSizeBytes: 1024 * 1024,
      processes: 5000,
      addressSpaceBytes: 2 ** 32,
    };
    const { text } = await result(await start('ulimit -n; ulimit -t; ulimit -f; ulimit -v', { limits }));
    expect(numbers(text)).toEqual([77, 9, 2048, 2 ** 22]);
  });

  test('is ended when its time is up, even if it ignores the polite signal', async () => {
    const limits = { timeoutMs: 200, killGraceMs: 100 };
    const exit = await result(await start("trap '' TERM; while :; do sleep 0.05; done", { limits }));
    expect(exit).toMatchObject({ signal: 'SIGKILL', timedOut: true });
  });

  test('may comply with the polite signal first', async () => {
    const child = await start("trap 'echo bye; exit 3' TERM; echo ready; while :; do sleep 0.05; done");
    let text = '';
    child.outputs[1]?.discard();
    const ready = new Promise<void>((resolve) => {
      child.outputs[0]?.onData((chunk) => {
        text += chunk.toString();
        if (text.includes('ready')) resolve();
      });
    });
    await ready;
    await child.terminate({ graceMs: 5_000 });
    expect(await child.exited).toMatchObject({ exitCode: 3 });
    await child.drained;
    expect(text).toContain('bye');
  });

  test('takes everything it started along when it is terminated', async () => {
    // A grandchild, one that ignores hang-ups, one in a group of its own, one in a session of its own, a stopped one.
    const child = await start(
      [
        'sleep 61 & a=$!',
        'sh -c \'trap "" HUP TERM; while :; do sleep 1; done\' & b=$!',
        'set -m; sleep 62 & c=$!; set +m',
        'setsid sleep 63 & d=$!',
        'sleep 64 & e=$!; kill -STOP $e',
        'sleep 0.2; echo pids $a $b $c $d $e; wait',
      ].join('\n'),
    );
    const text = await shows(child.outputs[0], '\n');
    const pids = numbers(text.slice(text.indexOf('pids')));
    expect(pids).toHaveLength(5);
    expect(pids.every(alive)).toBe(true);
    await child.terminate();
    expect(pids.filter(alive)).toEqual([]);
    expect(alive(child.pid)).toBe(false);
    expect(child.kill('SIGKILL')).toBe(false);
  });

  test('leaves its background children alone at a natural exit, until it is disposed of', async () => {
    const child = await start('set -m; nohup sleep 65 >/dev/null 2>&1 </dev/null & echo pid $!');
    const { text } = await result(child);
    const pids = numbers(text.slice(text.indexOf('pid')));
    expect(pids.every(alive)).toBe(true);
    await child[Symbol.asyncDispose]();
    expect(await gone(pids)).toBe(true);
  });

  test(`is known to have exited while another holds the output (${kind})`, async () => {
    await using child = await start("trap '' HUP; sh -c 'trap \"\" HUP; sleep 60' & echo mine; exit 4");
    let text = '';
    let closed = false;
    for (const output of child.outputs) {
      output.onData((chunk) => {
        text += chunk.toString();
      });
    }
    void child.closed.then(() => {
      closed = true;
    });
    expect(await child.exited).toMatchObject({ exitCode: 4 });
    await child.drained;
    expect(text.trim()).toBe('mine');
    expect(closed).toBe(false);
  });
});

test('an unknown level and one that this machine lacks are told apart from a failed start', async () => {
  const broken: IsolationLevel = {
    name: 'broken',
    probe: async () => ({ available: false, reason: 'no such kernel' }),
    wrap: processLevel.wrap,
  };
  await using some = createSpawner({ levels: new Map([['broken', broken]]) });
  const code = 'SPAWN_LEVEL_UNAVAILABLE';
  await expect(some.spawn(shell('true', { level: 'broken' }))).rejects.toMatchObject({
    code,
    message: /no such kernel/,
  });
  await expect(some.spawn(shell('true'))).rejects.toMatchObject({ code, facts: { level: 'process' } });
  await expect(some.spawn(shell('true', { level: '__proto__' }))).rejects.toMatchObject({ code });
});

test('a level decides what is executed, and gets its set-up back when the child is closed', async () => {
  let disposed = 0;
  const level: IsolationLevel = {
    name: 'echo',
    probe: async () => ({ available: true }),
    wrap: (command) => ({
      ...processLevel.wrap({ ...command, argv: ['echo', 'wrapped', ...command.argv] }),
      dispose: () => {
        disposed += 1;
      },
    }),
  };
  await using some = createSpawner({ levels: new Map([[level.name, level]]) });
  const child = await some.spawn(shell('true', { level: 'echo' }));
  expect((await result(child)).text).toBe('wrapped sh -c true\n');
  await child.closed;
  await child[Symbol.asyncDispose]();
  expect(disposed).toBe(1);
});

test('disposing of the spawner ends every child, also what exited children left behind, and refuses new ones', async () => {
  const own = createSpawner();
  const left = await own.spawn(shell('set -m; sleep 66 >/dev/null 2>&1 & echo $!'));
  const leftPids = numbers((await result(left)).text);
  const running = await Promise.all([own.spawn(shell('sleep 67')), own.spawn(terminal('sleep 68'))]);
  await own.dispose();
  expect(await gone([...leftPids, ...running.map(({ pid }) => pid)])).toBe(true);
  await expect(own.spawn(shell('true'))).rejects.toMatchObject({ code: 'SPAWN_FAILED' });
});

test('300 children leave no zombie and no handle behind', async () => {
  const own = createSpawner();
  const run = async (request: SpawnRequest): Promise<void> => {
    const child = await own.spawn(request);
    for (const output of child.outputs) output.discard();
    await child.closed;
  };
  await run(shell('true'));
  await run(terminal('true'));
  const handles = () => readdirSync('/proc/self/fd').length;
  const before = handles();
  for (let round = 0; round < 30; round += 1) {
    const requests = Array.from({ length: 10 }, (_, index) => (index < 7 ? shell(':') : terminal(':')));
    await Promise.all(requests.map(run));
  }
  await new Promise((resolve) => setImmediate(resolve));
  expect(handles()).toBeLessThanOrEqual(before + 1);
  const zombies = readProcessTable().filter(({ ppid, state }) => ppid === process.pid && state === 'Z');
  expect(zombies).toEqual([]);
  await own.dispose();
});

test('knows whether anybody of a child is left', async () => {
  const child = await spawner.spawn(shell('sleep 300 >/dev/null 2>&1 & echo $!'));
  await result(child);
  expect(child.vacated).toBe(false);
  await child.terminate();
  expect(child.vacated).toBe(true);
});

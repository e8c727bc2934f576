import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { Guardian } from '../../src/sandbox/guardian.js';
import { createSpawner } from '../../src/sandbox/index.js';
import { readProcess, readProcessTable } from '../../src/sandbox/process-table.js';
import { alive, gone, result, shell, terminal } from './helpers.js';

const servers: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.kill('SIGKILL');
});

/** Starts a fixture in a process group of its own, and reads its lines. */
function fixture(name: string, ...args: string[]) {
  const file = fileURLToPath(new URL(`./fixtures/${name}.mjs`, import.meta.url));
  const server = spawn(process.execPath, [file, ...args], { detached: true });
  servers.push(server);
  server.stdin.on('error', () => {});
  const lines = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  const ended = once(server, 'exit');
  const line = async () => JSON.parse((await lines.next()).value ?? '{}');
  return { server, ended, line };
}

/** Starts a server with children of all kinds, all of which run. */
async function serverWithChildren() {
  const { server, ended, line } = fixture('server');
  const { guardian, leaders, pids } = await line();
  expect(leaders).toHaveLength(3);
  expect(pids).toHaveLength(12);
  const children: number[] = [...leaders, ...pids];
  expect(children.filter((pid) => !alive(pid))).toEqual([]);
  expect(alive(guardian)).toBe(true);
  return { server, ended, line, guardian: Number(guardian), children };
}

describe('everything that a server started is gone within two seconds', () => {
  type Server = ChildProcessWithoutNullStreams;
  test.each<[string, (server: Server) => unknown]>([
    ['it is killed', (server) => server.kill('SIGKILL')],
    ['its whole process group is killed', (server) => process.kill(-Number(server.pid), 'SIGKILL')],
    ['it is terminated', (server) => server.kill('SIGTERM')],
    ['its terminal hangs up on it', (server) => process.kill(-Number(server.pid), 'SIGHUP')],
    ['it exits', (server) => server.stdin.write('exit\n')],
    ['it fails with an uncaught error', (server) => server.stdin.write('throw\n')],
  ])('when %s, and the guardian with it', async (_, end) => {
    const { server, ended, guardian, children } = await serverWithChildren();
    end(server);
    await ended;
    expect(await gone(children)).toBe(true);
    expect(await gone([guardian])).toBe(true);
  });

  test('when its guardian was killed first, because another one took over', async () => {
    const { server, ended, line, guardian, children } = await serverWithChildren();
    process.kill(guardian, 'SIGKILL');
    let next = guardian;
    for (const deadline = performance.now() + 5_000; next === guardian && performance.now() < deadline; ) {
      server.stdin.write('guardian\n');
      next = (await line()).guardian ?? guardian;
    }
    expect(next).not.toBe(guardian);
    expect(alive(next)).toBe(true);
    server.kill('SIGKILL');
    await ended;
    expect(await gone(children)).toBe(true);
    expect(await gone([next])).toBe(true);
  });
});

test('it removes the folders and groups of a server that was killed, and nothing else', async () => {
  const parent = mkdtempSync(join(tmpdir(), 'guardian '));
  try {
    const { server, ended, line } = fixture('folders', parent);
    const { guardian, reused } = await line();
    server.kill('SIGKILL');
    await ended;
    expect(await gone([guardian])).toBe(true);
    expect(readdirSync(parent).sort()).toEqual([basename(reused), 'group-1-full', 'group-2-1']);
  } finally {
    rmSync(parent, { recursive: true });
  }
});

test.each(['pipes', 'terminal'])('it keeps no program alive that has nothing left to do (%s)', async (stdio) => {
  const { ended, line } = fixture('brief', stdio);
  const { guardian } = await line();
  expect((await ended)[0]).toBe(0);
  expect(await gone([guardian])).toBe(true);
});

test('all spawners of a process share one, which is a child of this process in a session of its own', async () => {
  await using first = createSpawner();
  await using second = createSpawner();
  await result(await first.spawn(shell('true')));
  await result(await second.spawn(terminal('true')));
  const guardians = readProcessTable().filter(({ ppid, pid, session }) => ppid === process.pid && session === pid);
  expect(guardians).toHaveLength(1);
});

test('it is started once, and replaced when it ends while there is somebody to guard', async () => {
  const guardian = new Guardian();
  expect(guardian.pid).toBeUndefined();
  guardian.ensure();
  const first = Number(guardian.pid);
  guardian.ensure();
  expect(guardian.pid).toBe(first);
  guardian.started(2 ** 30);
  process.kill(first, 'SIGKILL');
  const deadline = performance.now() + 5_000;
  while ((guardian.pid ?? first) === first && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  const second = Number(guardian.pid);
  expect(second).not.toBe(first);
  guardian.forget(2 ** 30);
  process.kill(second, 'SIGKILL');
  expect(await gone([second])).toBe(true);
});

test('polite signals do not end it, for they are meant for the server', async () => {
  const guardian = new Guardian();
  guardian.ensure();
  const pid = Number(guardian.pid);
  const ignored = (): bigint =>
    BigInt(`0x${/^SigIgn:\s*(\w+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]}`);
  const { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGTSTP } = constants.signals;
  const polite = [SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGTSTP].reduce(
    (mask, n) => mask | (1n << BigInt(n - 1)),
    0n,
  );
  await expect.poll(() => ignored() & polite).toBe(polite);
  expect(readProcess(pid)?.session).toBe(pid);
  process.kill(pid, 'SIGKILL');
  expect(await gone([pid])).toBe(true);
});

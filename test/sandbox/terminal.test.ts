import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { afterAll, expect, test } from 'vitest';
import { createSpawner } from '../../src/sandbox/index.js';
import { readProcessTable } from '../../src/sandbox/process-table.js';
import { alive, collect, result, shell, shows, terminal } from './helpers.js';

const MEBIBYTE = 1024 * 1024;
const spawner = createSpawner({ inputQueueBytes: MEBIBYTE });
const folder = mkdtempSync(join(tmpdir(), 'sallyport-terminal-'));
afterAll(async () => {
  await spawner.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a script on a raw terminal and waits until it is raw. */
async function raw(script: string) {
  const child = await spawner.spawn(terminal(`stty raw -echo; echo ready; ${script}`));
  await shows(child.outputs[0], 'ready\n');
  return child;
}

test('a hundred times a mebibyte comes through byte for byte, and its end right after the exit', async () => {
  const data = randomBytes(MEBIBYTE);
  writeFileSync(join(folder, 'data'), data);
  let whole = 0;
  const delays: number[] = [];
  const once = async (): Promise<void> => {
    const child = await spawner.spawn(terminal('stty raw -echo; exec cat data', { cwd: folder }));
    const received = collect(child.outputs[0]);
    await child.exited;
    const exited = performance.now();
    if ((await received).equals(data)) whole += 1;
    delays.push(performance.now() - exited);
  };
  for (let round = 0; round < 25; round += 1) await Promise.all([once(), once(), once(), once()]);
  expect(whole).toBe(100);
  expect(delays.toSorted((a, b) => a - b)[50]).toBeLessThan(500);
});

test('output that nobody has read yet at the exit is still complete', async () => {
  const child = await spawner.spawn(terminal('printf "%3000d" 7; exit 3'));
  expect(await child.exited).toMatchObject({ exitCode: 3 });
  expect((await collect(child.outputs[0])).toString()).toBe('7'.padStart(3000));
});

test('it is the controlling terminal, with the size asked for and every later one', async () => {
  await using child = await spawner.spawn(
    terminal("trap 'stty size' WINCH; stty size </dev/tty; while :; do sleep 0.05; done"),
  );
  await shows(child.outputs[0], '24 80');
  const resized = shows(child.outputs[0], '65535 132');
  child.resize({ rows: 65_535, cols: 132 });
  await resized;
  for (const side of [0, -1, 65_536, 1.5, Number.NaN]) {
    const refused = expect.objectContaining({ code: 'SPAWN_INVALID' });
    expect(() => child.resize({ rows: side, cols: 80 })).toThrow(refused);
    expect(() => child.resize({ rows: 24, cols: side })).toThrow(refused);
  }
});

test('a resize after the end does nothing, also to another terminal that has the same handle by then', async () => {
  const first = await spawner.spawn(terminal('true'));
  first.outputs[0]?.discard();
  await first.closed;
  await using second = await spawner.spawn(terminal('echo ready; read line; stty size'));
  await shows(second.outputs[0], 'ready');
  first.resize({ rows: 7, cols: 7 });
  const size = shows(second.outputs[0], '24 80');
  await second.input?.write(Buffer.from('\n'));
  await size;
});

test('a paste of two megabytes arrives whole', async () => {
  const size = 2 * MEBIBYTE;
  await using child = await raw(`head -c ${size} | sha256sum`);
  const paste = randomBytes(size);
  const answer = shows(child.outputs[0], '  -');
  await child.input?.write(paste);
  expect(await answer).toContain(createHash('sha256').update(paste).digest('hex'));
});

test('typed text comes back the way it was typed, in both directions at once', async () => {
  await using child = await raw(`exec head -c ${MEBIBYTE}`);
  const data = randomBytes(MEBIBYTE);
  const back = collect(child.outputs[0]);
  for (let at = 0; at < data.length; at += 10_000) await child.input?.write(data.subarray(at, at + 10_000));
  expect((await back).equals(data)).toBe(true);
});

test('a full terminal makes its writer wait, while the event loop is free and the processor idle', async () => {
  await using child = await raw('exec sleep 60');
  const outcome = child.input?.write(new Uint8Array(MEBIBYTE).fill(97)).then(
    () => 'written',
    (error) => error.code,
  );
  await expect(child.input?.write(new Uint8Array(MEBIBYTE))).rejects.toMatchObject({ code: 'SPAWN_INPUT_BACKLOG' });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  const before = process.cpuUsage();
  const waited = await Promise.race([outcome, new Promise((resolve) => setTimeout(resolve, 500, 'waiting'))]);
  const used = process.cpuUsage(before);
  delay.disable();
  expect(waited).toBe('waiting');
  expect((used.user + used.system) / 1e3).toBeLessThan(250);
  expect(delay.percentile(50) / 1e6).toBeLessThan(200);
  await child.terminate();
  expect(await outcome).toBe('SPAWN_INPUT_CLOSED');
  await expect(child.input?.write(Uint8Array.of(97))).rejects.toMatchObject({ code: 'SPAWN_INPUT_CLOSED' });
  await expect(child.input?.end()).rejects.toMatchObject({ code: 'SPAWN_INPUT_CLOSED' });
});

test('a writer that waited goes on when the child reads again', async () => {
  const size = 300_000;
  await using child = await raw(`kill -STOP $$; head -c ${size} | wc -c`);
  const counted = shows(child.outputs[0], `${size}`);
  const written = child.input?.write(new Uint8Array(size).fill(97));
  const waited = await Promise.race([written, new Promise((resolve) => setTimeout(resolve, 100, 'waiting'))]);
  expect(waited).toBe('waiting');
  child.kill('SIGCONT');
  await Promise.all([written, counted]);
});

test('a typed interrupt reaches the foreground group and leaves the shell alone', async () => {
  await using child = await spawner.spawn(
    terminal("trap 'echo caught' INT; sh -c 'echo ready; exec sleep 60'; echo status $?; read line"),
  );
  await shows(child.outputs[0], 'ready');
  const shown = shows(child.outputs[0], 'status 130');
  await child.input?.write(Uint8Array.of(3));
  expect(await shown).toContain('caught');
  expect(alive(child.pid)).toBe(true);
});

test('a typed interrupt ends a program that does not handle it', async () => {
  const child = await spawner.spawn(terminal('echo ready; exec sleep 60'));
  await shows(child.outputs[0], 'ready');
  await child.input?.write(Uint8Array.of(3));
  expect(await child.exited).toMatchObject({ signal: 'SIGINT' });
});

test('ending the input ends a program that reads lines', async () => {
  const child = await spawner.spawn(terminal('cat; echo over'));
  const text = result(child);
  await child.input?.end();
  expect((await text).text).toContain('over');
});

test('an interactive shell takes its background jobs along when it is terminated', async () => {
  await using child = await spawner.spawn(terminal('', { argv: ['bash', '--norc', '--noprofile', '-i'] }));
  const shown = shows(child.outputs[0], 'started.');
  const typed = 'sleep 71 & nohup sleep 72 & disown; (sleep 73 &) ; echo start"ed."\r';
  await child.input?.write(Buffer.from(typed));
  await shown;
  const jobs = readProcessTable().filter(({ pid, session }) => session === child.pid && pid !== child.pid);
  const pids = jobs.map(({ pid }) => pid);
  expect(pids).toHaveLength(3);
  expect(new Set(jobs.map(({ processGroup }) => processGroup)).size).toBeGreaterThan(1);
  await child.terminate();
  expect(pids.filter(alive)).toEqual([]);
});

test('the masters of other terminals reach no child, even when handles close and open in quick succession', async () => {
  const survey = async (): Promise<string> => {
    const child = await spawner.spawn(shell('readlink /proc/self/fd/*; true'));
    return (await result(child)).text;
  };
  for (let round = 0; round < 10; round += 1) {
    const brief = await spawner.spawn(terminal('true'));
    brief.outputs[0]?.discard();
    await brief.exited;
    await using open = await spawner.spawn(terminal('sleep 60'));
    await brief.closed;
    expect(await survey()).not.toContain('ptmx');
    expect(open.pid).toBeGreaterThan(0);
  }
});

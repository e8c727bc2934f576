import { randomBytes } from 'node:crypto';
import { afterAll, expect, test } from 'vitest';
import { createSpawner } from '../../src/sandbox/index.js';
import { collect, result, shell } from './helpers.js';

const spawner = createSpawner({ inputQueueBytes: 1024 * 1024 });
afterAll(() => spawner.dispose());
const piped = { kind: 'pipes', stdin: 'pipe' } as const;

test('standard input is /dev/null unless asked for', async () => {
  const child = await spawner.spawn(shell('readlink /proc/self/fd/0'));
  expect(child.input).toBeUndefined();
  expect((await result(child)).text.trim()).toBe('/dev/null');
});

test('input of several megabytes comes back byte for byte', async () => {
  const child = await spawner.spawn(shell('cat', { stdio: piped }));
  const data = randomBytes(4 * 1024 * 1024);
  const back = collect(child.outputs[0]);
  for (let at = 0; at < data.length; at += 300_000) await child.input?.write(data.subarray(at, at + 300_000));
  await child.input?.end();
  expect((await back).equals(data)).toBe(true);
});

test('a child that does not read its input is not buffered for without end', async () => {
  await using child = await spawner.spawn(shell('sleep 60', { stdio: piped }));
  const writes = Array.from({ length: 8 }, () => child.input?.write(new Uint8Array(512 * 1024)));
  const settled = Promise.allSettled(writes);
  await child.terminate();
  const codes = (await settled).map((write) => (write.status === 'rejected' ? write.reason.code : 'written'));
  expect(codes).toContain('SPAWN_INPUT_BACKLOG');
  await expect(child.input?.write(new Uint8Array(1))).rejects.toMatchObject({ code: 'SPAWN_INPUT_CLOSED' });
});

test('a paused consumer holds the child back, and gets everything once it resumes, even after the exit', async () => {
  await using child = await spawner.spawn(shell('head -c 3000000 /dev/zero; echo done >&2'));
  const [stdout, stderr] = child.outputs;
  let bytes = 0;
  let paused = false;
  let whilePaused = 0;
  stdout?.onData((chunk) => {
    bytes += chunk.length;
    if (paused) whilePaused += 1;
    else if (bytes < 200_000) {
      paused = true;
      stdout.pause();
    }
  });
  let finished = false;
  stderr?.onData(() => {
    finished = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect({ finished, whilePaused }).toEqual({ finished: false, whilePaused: 0 });
  paused = false;
  bytes += 1_000_000;
  stdout?.resume();
  await child.closed;
  expect(bytes).toBe(4_000_000);
});

test('what was written before the exit waits for a consumer that comes later', async () => {
  const child = await spawner.spawn(shell('echo early'));
  await child.exited;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect((await collect(child.outputs[0])).toString()).toBe('early\n');
});

test('extra pipes start at handle 3 and go both ways', async () => {
  const stdio = { kind: 'pipes', stdin: 'null', extraPipes: 2 } as const;
  const child = await spawner.spawn(shell('read line <&3; echo "got $line" >&3; echo four >&4', { stdio }));
  const texts = Promise.all(child.extraPipes.map(({ output }) => collect(output)));
  await child.extraPipes[0]?.input.write(Buffer.from('ping\n'));
  expect((await texts).map(String)).toEqual(['got ping\n', 'four\n']);
});

test('there is no terminal to resize', async () => {
  await using child = await spawner.spawn(shell('sleep 60'));
  expect(() => child.resize({ rows: 1, cols: 1 })).toThrow(expect.objectContaining({ code: 'SPAWN_INVALID' }));
});

test('what a child leaves behind that writes without a pause does not keep its own output from being complete', async () => {
  await using child = await spawner.spawn(shell('echo own; yes & exit 3'));
  child.outputs.forEach((output) => {
    output.discard();
  });
  await child.drained;
  expect((await child.exited).exitCode).toBe(3);
});

test('a time limit beyond what a timer knows is no limit of no time', async () => {
  const child = await spawner.spawn(shell('sleep 0.2; exit 3', { limits: { timeoutMs: 2 ** 40 } }));
  expect(await child.exited).toMatchObject({ exitCode: 3, timedOut: false });
});

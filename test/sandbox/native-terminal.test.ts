import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { shell, terminal } from './helpers.js';

const arch = Object.getOwnPropertyDescriptor(process, 'arch');
beforeEach(() => void vi.resetModules());
afterEach(() => {
  vi.unstubAllEnvs();
  if (arch !== undefined) Object.defineProperty(process, 'arch', arch);
});

test('says which binary is missing on a platform that has none, and pipes still work', async () => {
  Object.defineProperty(process, 'arch', { ...arch, value: 'z80' });
  const { createSpawner, probeMachine } = await import('../../src/sandbox/index.js');
  await using spawner = createSpawner();
  const name = `@lydell/node-pty-${process.platform}-z80`;
  await expect(spawner.spawn(terminal('true'))).rejects.toMatchObject({
    code: 'SPAWN_TERMINAL_UNAVAILABLE',
    message: expect.stringContaining(name),
  });
  expect((await probeMachine()).terminal).toEqual({ ok: false, detail: expect.stringContaining(name) });
  const child = await spawner.spawn(shell('exit 5'));
  for (const output of child.outputs) output.discard();
  expect(await child.exited).toMatchObject({ exitCode: 5 });
});

test('says that `setsid` is missing where it is', async () => {
  vi.stubEnv('PATH', '/no/such/folder');
  const { createSpawner } = await import('../../src/sandbox/index.js');
  await using spawner = createSpawner();
  await expect(spawner.spawn(terminal('true'))).rejects.toMatchObject({
    code: 'SPAWN_TERMINAL_UNAVAILABLE',
    message: expect.stringContaining('setsid'),
  });
});

import { afterAll, describe, expect, test } from 'vitest';
import { createSpawner, type SpawnRequest } from '../../src/sandbox/index.js';
import { PATH, shell } from './helpers.js';

const spawner = createSpawner();
afterAll(() => spawner.dispose());

const kinds: [string, SpawnRequest['stdio']][] = [
  ['pipes', { kind: 'pipes', stdin: 'null' }],
  ['a terminal', { kind: 'terminal', rows: 24, cols: 80 }],
];

describe.each(kinds)('with %s', (_, stdio) => {
  const start = (more: Partial<SpawnRequest>) => spawner.spawn(shell('true', { stdio, ...more }));

  test.each<[string, Partial<SpawnRequest>]>([
    ['an empty argv', { argv: [] }],
    ['a NUL in argv', { argv: ['echo', 'a\0b'] }],
    ['a NUL in arg0', { arg0: 'a\0b' }],
    ['a NUL in a variable', { env: { A: 'b\0c' } }],
    ['a variable whose name holds an equals sign', { env: { 'A=B': 'c' } }],
    ['a variable without a name', { env: { '': 'c' } }],
    ['a NUL in cwd', { cwd: '/\0' }],
    ['a relative cwd', { cwd: 'tmp' }],
    ['a negative limit', { limits: { openFiles: -1 } }],
    ['a limit that is no number', { limits: { timeoutMs: Number.NaN } }],
  ])('refuses %s', async (_name, more) => {
    await expect(start(more)).rejects.toMatchObject({ code: 'SPAWN_INVALID' });
  });

  test.each<[string, string, Partial<SpawnRequest>]>([
    ['a program that is nowhere on PATH', 'ENOENT', { argv: ['no-such-program'] }],
    ['a program of an empty name', 'ENOENT', { argv: [''] }],
    ['a path that does not exist', 'ENOENT', { argv: ['/no/such/program'] }],
    ['a file that is not executable', 'EACCES', { argv: ['/etc/passwd'] }],
    ['a folder as program', 'EACCES', { argv: ['/tmp'] }],
    ['a program that only our own PATH has', 'ENOENT', { argv: ['sh'], env: { PATH: '/no/such/folder' } }],
    ['a cwd that does not exist', 'ENOENT', { cwd: '/no/such/folder' }],
    ['a cwd that is a file', 'ENOTDIR', { cwd: '/etc/passwd' }],
    ['one argument that is too long', 'E2BIG', { argv: ['true', 'x'.repeat(2_000_000)] }],
    ['too many arguments', 'E2BIG', { argv: ['true', ...Array.from({ length: 1_000_000 }, () => 'x')] }],
    ['an environment that is too large', 'E2BIG', { env: { PATH, BIG: 'x'.repeat(200_000) } }],
  ])('says the reason of the system for %s', async (_name, errno, more) => {
    await expect(start(more)).rejects.toMatchObject({ code: 'SPAWN_FAILED', facts: { errno } });
  });
});

test.each([
  [0, 80],
  [24, 0],
  [-1, 80],
  [24, 65_536],
  [1.5, 80],
  [Number.NaN, 80],
])('refuses a terminal of %d by %d', async (rows, cols) => {
  const started = spawner.spawn(shell('true', { stdio: { kind: 'terminal', rows, cols } }));
  await expect(started).rejects.toMatchObject({ code: 'SPAWN_INVALID' });
});

test('refuses more extra pipes than the limit', async () => {
  const stdio = { kind: 'pipes', stdin: 'null', extraPipes: 17 } as const;
  await expect(spawner.spawn(shell('true', { stdio }))).rejects.toMatchObject({ code: 'SPAWN_INVALID' });
});

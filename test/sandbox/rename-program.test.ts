import { execFileSync } from 'node:child_process';
import { afterEach, expect, test, vi } from 'vitest';
import { argvFor } from '../../src/sandbox/rename-program.js';
import { findSystemTool } from '../../src/sandbox/resolve-program.js';

afterEach(() => void vi.unstubAllEnvs());

const cat = String(findSystemTool('cat'));
const folder = cat.slice(0, -'/cat'.length);
const invocation = (argv0: string, env: Record<string, string> = { PATH: folder }) => ({
  file: cat,
  argv0,
  args: ['/proc/self/cmdline'],
  env: new Map(Object.entries(env)),
  cwd: '/',
});

test.each<[string, string, Record<string, string>]>([
  ['its own path', cat, {}],
  ['a name that PATH resolves to it', 'cat', { PATH: `/no/such/folder:${folder}` }],
  ['a relative path that leads to it', `.${cat}`, {}],
])('a program that is called by %s needs no help', (_, argv0, env) => {
  expect(argvFor(invocation(argv0, env))).toEqual([argv0, '/proc/self/cmdline']);
});

test.each<[string, string, Record<string, string>]>([
  ['a name that is no program', 'other name', { PATH: folder }],
  ['a name that starts with a dash', '-cat', { PATH: folder }],
  ['an empty name', '', { PATH: folder }],
  ['a name that PATH resolves to another program', 'true', { PATH: folder }],
  ['a name without a PATH', 'cat', {}],
  ['a name like an assignment', 'A=B', { PATH: folder }],
])('a program that is called by %s gets exactly that name', (_, argv0, env) => {
  const [tool, ...args] = argvFor(invocation(argv0, env));
  expect(tool).not.toBe(argv0);
  const shown = execFileSync(String(tool), args, { env, encoding: 'utf8' });
  expect(shown).toBe(`${argv0}\0/proc/self/cmdline\0`);
});

test('says what is missing when nothing here can rename', async () => {
  vi.resetModules();
  vi.stubEnv('PATH', '/no/such/folder');
  const fresh = await import('../../src/sandbox/rename-program.js');
  expect(() => fresh.argvFor(invocation('other'))).toThrow(
    expect.objectContaining({
      code: 'SPAWN_FAILED',
      facts: { errno: 'ENOSYS' },
      message: expect.stringContaining('perl'),
    }),
  );
  expect(fresh.argvFor(invocation('cat'))).toEqual(['cat', '/proc/self/cmdline']);
});

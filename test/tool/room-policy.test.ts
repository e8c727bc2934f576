import { mkdirSync, realpathSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type Command, checkPolicy, DEFAULT_LIMITS, ownPackagePaths } from '../../src/sandbox/index.js';
import { toolRoomPolicy } from '../../src/tool/room-policy.js';
import { scratchFolder } from './helpers.js';

const started = (cwd: string): Command => ({
  argv: ['node'],
  arg0: undefined,
  env: new Map(),
  cwd,
  limits: {},
  policy: undefined,
  onNetworkDecision: undefined,
  stdio: { kind: 'pipes', stdin: 'null' },
});

it('shows a child the trees of the cache and this package, and lets it write to nothing of the machine', () => {
  const cache = realpathSync(scratchFolder());
  const policy = toolRoomPolicy({ cacheDir: cache })(started('/tmp'));
  expect(policy).toEqual({
    filesystem: { read: [join(cache, 'trees'), ...ownPackagePaths()], write: [], hide: [] },
    network: { kind: 'full' },
    limits: DEFAULT_LIMITS,
  });
  checkPolicy(policy);
});

it('lets an install script write to the packages of the one tree that it was started in', () => {
  const cache = realpathSync(scratchFolder());
  const policyOf = toolRoomPolicy({ cacheDir: cache, network: { kind: 'none' }, limits: { processes: 9 } });
  const draft = join(cache, 'tmp', 'server', 'draft');
  const packages = join(draft, 'node_modules');
  for (const cwd of [join(packages, 'a'), join(packages, '@a', 'b'), join(packages, 'a', 'node_modules', 'b')]) {
    expect(policyOf(started(cwd))).toMatchObject({
      filesystem: { read: [], write: [packages], hide: [] },
      network: { kind: 'none' },
      limits: { ...DEFAULT_LIMITS, processes: 9 },
    });
  }
  // Neither what lies beside the packages, nor the folder of a server or of all of them, nor what only begins like it.
  for (const cwd of [draft, join(draft, 'x'), join(cache, 'tmp'), join(cache, 'tmp', 'server'), cache, '/']) {
    expect(policyOf(started(cwd)).filesystem.write).toEqual([]);
  }
  for (const cwd of [`${cache}/tmp-x/server/draft/node_modules/a`, '/a/b/node_modules/a', `${cache}/a/node_modules`]) {
    expect(policyOf(started(cwd)).filesystem.write).toEqual([]);
  }
});

it('names the folder as it really is', () => {
  const folder = realpathSync(scratchFolder());
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  const { filesystem } = toolRoomPolicy({ cacheDir: join(folder, 'link') })(started('/tmp'));
  expect(filesystem.read[0]).toBe(join(folder, 'real', 'trees'));
});

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { GUEST_POLICY, resolveIsolation } from '../../src/sandbox/index.js';
import { here } from './container/rooms.js';

const options = { policy: GUEST_POLICY };

test('takes the best level that there is, and says which and why', async () => {
  const found = await resolveIsolation('auto', options);
  expect(found.name).toBe(here.available ? 'container' : 'process');
  expect(found.reason).toContain(here.available ? 'bubblewrap' : here.reason);
  expect(found.levels.get(found.name)).toBe(found.level);
  expect(found.enforcement === undefined).toBe(!here.available);
});

test('takes the weaker level only when that was asked for', async () => {
  expect(await resolveIsolation('process', options)).toMatchObject({ name: 'process', enforcement: undefined });
});

test('refuses rather than run weaker, with the package to install', async () => {
  const empty = mkdtempSync(join(tmpdir(), 'sallyport-empty-'));
  vi.stubEnv('PATH', empty);
  try {
    await expect(resolveIsolation('container', options)).rejects.toMatchObject({
      code: 'SPAWN_LEVEL_UNAVAILABLE',
      message: expect.stringMatching(/`bwrap`.* is not here: apt-get install bubblewrap/),
    });
    expect(await resolveIsolation('auto', options)).toMatchObject({
      name: 'process',
      reason: expect.stringContaining('apt-get install bubblewrap'),
    });
  } finally {
    vi.unstubAllEnvs();
    rmSync(empty, { recursive: true });
  }
});

import { afterEach, expect, test, vi } from 'vitest';
import { kernelLimitPrefix } from '../../src/sandbox/kernel-limits.js';
import { findSystemTool } from '../../src/sandbox/resolve-program.js';

afterEach(() => void vi.unstubAllEnvs());

test('costs nothing when no limit of the kernel is set', () => {
  expect(kernelLimitPrefix({})).toEqual([]);
  expect(kernelLimitPrefix({ timeoutMs: 5, killGraceMs: 5 })).toEqual([]);
});

test('names every limit that is set, zero included, and ends the options', () => {
  const limits = { cpuSeconds: 1, fileSizeBytes: 0, openFiles: 3, processes: 4, addressSpaceBytes: 2 ** 40 };
  expect(kernelLimitPrefix(limits)).toEqual([
    findSystemTool('prlimit'),
    '--cpu=1',
    '--fsize=0',
    '--nofile=3',
    '--nproc=4',
    '--as=1099511627776',
    '--',
  ]);
});

test('refuses rather than runs without the limit where the tool is missing', async () => {
  vi.resetModules();
  vi.stubEnv('PATH', '/no/such/folder');
  const fresh = await import('../../src/sandbox/kernel-limits.js');
  expect(fresh.kernelLimitPrefix({})).toEqual([]);
  expect(() => fresh.kernelLimitPrefix({ openFiles: 3 })).toThrow(
    expect.objectContaining({ code: 'SPAWN_FAILED', message: expect.stringContaining('prlimit') }),
  );
});

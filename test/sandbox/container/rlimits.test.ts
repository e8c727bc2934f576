import { expect, test } from 'vitest';
import { effectiveLimits, rlimitPrefix } from '../../../src/sandbox/container/rlimits.js';

test('takes the smaller one of what the policy grants and what the request asks for', () => {
  const policy = { memoryBytes: 1_000, processes: 10, openFiles: 50, tmpBytes: 7 };
  expect(effectiveLimits(policy, { dataBytes: 400, processes: 20, cpuSeconds: 3 })).toEqual({
    memoryBytes: 400,
    processes: 10,
    cpuSeconds: 3,
    openFiles: 50,
    tmpBytes: 7,
  });
  expect(effectiveLimits(policy, { dataBytes: 2_000 }).memoryBytes).toBe(1_000);
});

test('leaves to control groups what they count for all processes together', () => {
  const limits = { memoryBytes: 1_000, processes: 10 };
  expect(rlimitPrefix('prlimit', limits, { folders: new Map() })).toEqual([
    'prlimit',
    '--core=0',
    '--data=1000',
    '--nproc=10',
    '--',
  ]);
  const folders = new Map([
    ['memory', '/a'],
    ['pids', '/b'],
  ] as const);
  expect(rlimitPrefix('prlimit', limits, { folders })).toEqual(['prlimit', '--core=0', '--']);
});

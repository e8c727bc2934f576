import { expect, test } from 'vitest';
import type { ProcessEntry } from '../../src/sandbox/process-table.js';
import { ProcessTree } from '../../src/sandbox/process-tree.js';

const entry = (pid: number, ppid: number, session: number, more: Partial<ProcessEntry> = {}): ProcessEntry => ({
  pid,
  ppid,
  session,
  processGroup: pid,
  state: 'S',
  startedAt: 0,
  ...more,
});
const pids = (entries: readonly ProcessEntry[]): number[] => entries.map(({ pid }) => pid).sort((a, b) => a - b);

test('counts the session, the descendants, and the sessions that descendants lead', () => {
  const table = [
    entry(1, 0, 1),
    entry(100, 50, 100),
    entry(101, 1, 100),
    entry(102, 100, 102),
    entry(103, 1, 102),
    entry(104, 102, 104),
    entry(200, 1, 200),
  ];
  expect(pids(new ProcessTree(100).members(table))).toEqual([100, 101, 102, 103, 104]);
});

test('does not count who has ended and only waits to be reaped', () => {
  const tree = new ProcessTree(100);
  expect(tree.members([entry(100, 50, 100, { state: 'Z' })])).toEqual([]);
  expect(tree.empty).toBe(false);
});

test('is empty for good once the leader was reaped and nobody is found', () => {
  const tree = new ProcessTree(100);
  tree.leaderEnded();
  expect(tree.members([entry(1, 0, 1)])).toEqual([]);
  expect(tree.empty).toBe(true);
  expect(tree.members([entry(101, 1, 100)])).toEqual([]);
});

test('takes a process with the number of a reaped leader for a stranger', () => {
  const tree = new ProcessTree(100);
  tree.leaderEnded();
  expect(tree.members([entry(100, 1, 100), entry(101, 100, 100)])).toEqual([]);
  expect(tree.empty).toBe(true);
});

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type ProcessEntry,
  parseStat,
  processTableOfThisTurn,
  readOnlyChild,
  readProcess,
  readProcessTable,
  runs,
  StartMark,
} from '../../src/sandbox/process-table.js';
import { ProcessTree } from '../../src/sandbox/process-tree.js';

test('finds this very process with its parent', () => {
  const own = readProcessTable().find((entry) => entry.pid === process.pid);
  expect(own?.ppid).toBe(process.ppid);
  expect(readProcess(process.pid)?.session).toBe(own?.session);
});

test('gives nothing for a process that is not there', () => {
  expect(readProcess(2 ** 30)).toBeUndefined();
});

test('reads the right fields whatever a program calls itself', () => {
  fc.assert(
    fc.property(
      fc.string({ maxLength: 15 }),
      fc.nat(),
      fc.nat(),
      fc.nat(),
      fc.nat(),
      fc.nat(),
      (name, pid, ppid, group, session, startedAt) => {
        const between = '0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0';
        const text = `${pid} (${name}) S ${ppid} ${group} ${session} ${between} ${startedAt} 1000 10\n`;
        expect(parseStat(text)).toEqual({ pid, state: 'S', ppid, processGroup: group, session, startedAt });
      },
    ),
  );
});

test('tells a process from a later one with its number', async () => {
  const child = spawn('/bin/sleep', ['30'], { stdio: 'ignore' });
  const entry = readProcess(child.pid ?? 0) as ProcessEntry;
  expect(runs(entry)).toBe(true);
  expect(runs({ ...entry, startedAt: entry.startedAt - 1 })).toBe(false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  expect(runs(entry)).toBe(false);
});

test('names the only child of a process, and nobody when there are none or two', async () => {
  const shell = (script: string) => spawn('/bin/sh', ['-c', script], { detached: true, stdio: 'ignore' });
  const shells = [shell('sleep 30; :'), shell('sleep 30 & sleep 30 & wait')];
  const [one = 0, two = 0] = shells.map(({ pid }) => pid);
  await expect.poll(() => readOnlyChild(one)?.ppid).toBe(one);
  await expect.poll(() => readProcessTable().filter(({ ppid }) => ppid === two).length).toBe(2);
  expect(readOnlyChild(two)).toBeUndefined();
  expect(readOnlyChild(readOnlyChild(one)?.pid ?? 0)).toBeUndefined();
  for (const pid of [one, two]) process.kill(-pid, 'SIGKILL');
});

test('refuses text that is no process entry', () => {
  fc.assert(fc.property(fc.string(), (text) => text.includes(')') || parseStat(text) === undefined));
});

test('is read once per turn, and anew in the next', async () => {
  const table = processTableOfThisTurn();
  expect(processTableOfThisTurn()).toBe(table);
  // The end of a leader makes it stale.
  new ProcessTree(process.pid).leaderEnded();
  const second = processTableOfThisTurn();
  expect(second).not.toBe(table);
  await new Promise((resolve) => setImmediate(resolve));
  expect(processTableOfThisTurn()).not.toBe(second);
});

test('a start mark keeps what was started later, and leaves out what was there before', () => {
  const first = spawn('/bin/sleep', ['30'], { stdio: 'ignore' });
  const mark = new StartMark(first.pid ?? 0);
  const second = spawn('/bin/sleep', ['30'], { stdio: 'ignore' });
  const later = mark.later();
  expect(later(second.pid ?? 0)).toBe(true);
  const numbers = readProcessTable().map((entry) => entry.pid);
  expect(numbers.filter(later).length).toBeLessThan(numbers.length);
  for (const child of [first, second]) child.kill('SIGKILL');
});

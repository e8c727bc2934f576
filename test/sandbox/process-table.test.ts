import { spawn } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  parseStat,
  processTableOfThisTurn,
  readProcess,
  readProcessTable,
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
      (name, pid, ppid, group, session) => {
        const text = `${pid} (${name}) S ${ppid} ${group} ${session} 0 -1 4194560 1 0\n`;
        expect(parseStat(text)).toEqual({ pid, state: 'S', ppid, processGroup: group, session });
      },
    ),
  );
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

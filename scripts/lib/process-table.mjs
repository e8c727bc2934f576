// What the kernel says about processes: who descends from whom, and what they hold. Linux only.
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Every process that is not merely waiting to be reaped, with its parent. */
export function processTable() {
  const parents = new Map();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'latin1');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z') parents.set(Number(name), Number(parent));
    } catch {
      // Gone meanwhile.
    }
  }
  return parents;
}

/** The children of a process, their children, and so on. */
export function descendants(of) {
  const parents = processTable();
  const found = [of];
  for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
  return found.slice(1);
}

/** Who of them is there when all are gone or their time is over: a server's guardian ends last, after a look for rooms. */
export async function leftAfter(pids, milliseconds) {
  const deadline = performance.now() + milliseconds;
  for (;;) {
    const table = processTable();
    const left = pids.filter((pid) => table.has(pid));
    if (left.length === 0 || performance.now() > deadline) return left;
    await delay(50);
  }
}

/** Resident memory in MiB; 0 for a process that is gone. */
export function rssMiB(pid) {
  try {
    return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) / 1024;
  } catch {
    return 0;
  }
}

/** How many handles a process has open; 0 for one that is gone. */
export function handleCount(pid) {
  try {
    return readdirSync(`/proc/${pid}/fd`).length;
  } catch {
    return 0;
  }
}

/** The command line of a process, for people. */
export function commandOf(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

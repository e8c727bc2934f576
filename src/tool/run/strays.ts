import { readdirSync, readFileSync } from 'node:fs';
import type { StartMark } from '../../sandbox/index.js';

/**
 * Ends processes that carry a child's private folder in their environment: daemons that left its session and lost their
 * parents, and so cannot be told from strangers by kinship. Whoever also wipes its environment gets past this; a pid
 * namespace catches that one. Returns how many were found.
 */
export function endStrays(leader: StartMark, folder: string): number {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return 0;
  }
  const mark = Buffer.from(`=${folder}\0`);
  const later = leader.later();
  let found = 0;
  for (const name of names) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || !later(pid)) continue;
    try {
      if (!readFileSync(`/proc/${pid}/environ`).includes(mark)) continue;
      process.kill(pid, 'SIGKILL');
      found += 1;
    } catch {
      // Gone, or of another user and so none of ours.
    }
  }
  return found;
}

import { readdirSync, readFileSync } from 'node:fs';

/**
 * Which processes can have been started after a leader: the kernel counts upwards, and says which number it gave last.
 * When it has started over since, any number can.
 */
function startedAfter(leader: number): (pid: number) => boolean {
  try {
    const last = Number(readFileSync('/proc/loadavg', 'latin1').trim().split(' ').at(-1));
    if (last >= leader) return (pid) => pid > leader;
  } catch {
    // Not Linux; then there is no list of processes either.
  }
  return () => true;
}

/**
 * Ends processes that carry a child's private folder in their environment: daemons that left its session and lost their
 * parents, and so cannot be told from strangers by kinship. Whoever also wipes its environment gets past this; a pid
 * namespace catches that one. Returns how many were found.
 */
export function endStrays(leader: number, folder: string): number {
  let names: string[];
  try {
    names = readdirSync('/proc');
  } catch {
    return 0;
  }
  const mark = Buffer.from(`=${folder}\0`);
  const younger = startedAfter(leader);
  let found = 0;
  for (const name of names) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || pid === process.pid || !younger(pid)) continue;
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

import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** How a child is weighed against others that want the processor. */
export type Priority = 'normal' | 'low';

/** About a third of the ordinary share, when there is not enough for all. */
const LOW_PRIORITY = 5;

/**
 * Has a process stand back when others want the processor, with what it starts from here on. Linux may weigh whole sessions
 * against each other, and the priority of a process only counts within one: where it does, the session stands back as well.
 * What cannot be done is left: the child runs all the same.
 */
export function standBack(pid: number): void {
  try {
    setPriority(pid, LOW_PRIORITY);
  } catch {
    // Gone, or somebody else's.
  }
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(LOW_PRIORITY), { flag: 'r+' });
  } catch {
    // A kernel that does not, or one that allows an ordinary user ten of these a second.
  }
}

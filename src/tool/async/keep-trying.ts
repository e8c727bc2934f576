import { setTimeout as delay } from 'node:timers/promises';

/** How long a write that failed waits for its next try: soon after a disk has room again, and far from busy until then. */
const PAUSE_MS = 500;

/**
 * Writes until it works: a full disk or a locked file passes, and what is not written would be lost. Says whether it was
 * written; it is given up when `stopped` says that the store is about to be closed.
 */
export async function keepTrying(write: () => void, stopped: () => boolean): Promise<boolean> {
  for (;;) {
    try {
      write();
      return true;
    } catch {
      if (stopped()) return false;
    }
    await delay(PAUSE_MS);
  }
}

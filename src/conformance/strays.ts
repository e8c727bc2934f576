import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { STRAY_LOOKS, STRAY_PAUSE_MS } from './limits.js';

/** The variable in which processes of a check bear its mark. They hand it on to whatever they start. */
const VARIABLE = 'SALLYPORT_CONFORMANCE';

/**
 * Processes of a check that are nobody's any more. A target that dies leaves what it started in sessions of their own, where no
 * parent leads to them; the mark does, among their arguments or in their environment. Linux only.
 */
export class Strays {
  readonly #mark = `conformance-${randomUUID()}`;
  /** Who was there before anybody could bear the mark. */
  #before: ReadonlySet<number> | undefined;

  /** A word that no other check has. Whoever bears it is ended with the check, where the target is on this machine. */
  get mark(): string {
    this.#before ??= new Set(pids());
    return this.#mark;
  }

  /** The mark as a variable of the environment. */
  get variable(): Readonly<Record<string, string>> {
    return { [VARIABLE]: this.mark };
  }

  /** Ends everybody who bears the mark, and looks again for who was started meanwhile. */
  async end(): Promise<void> {
    const before = this.#before;
    if (before === undefined) return;
    for (let look = 0; look < STRAY_LOOKS; look += 1) {
      const found = pids().filter((pid) => !before.has(pid) && bears(pid, this.#mark));
      if (found.length === 0) return;
      for (const pid of found) kill(pid);
      await pause(STRAY_PAUSE_MS);
    }
  }
}

function bears(pid: number, mark: string): boolean {
  return ['environ', 'cmdline'].some((file) => textOf(`/proc/${pid}/${file}`).includes(mark));
}

function pids(): number[] {
  try {
    return readdirSync('/proc').map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

/** Nothing for a process that is gone or somebody else's. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // Gone meanwhile.
  }
}

import { createHash } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { lockFile } from '../file-lock.js';

/** Who evicts a tree has it for the time of one rename. Somebody who was stopped in the midst of it is not waited for. */
const EVICTION_WAIT_MS = 100;

interface Held {
  users: number;
  readonly lock: Disposable | undefined;
}

/**
 * Keeps trees that one process uses from being evicted by another one with the same cache folder. Each tree has a file that its
 * users lock together and whoever evicts it locks alone. The files stay, empty, when trees go: whoever opened one that is then
 * removed and made anew would have a lock that nobody else sees.
 */
export class TreeLocks {
  readonly #folder: string;
  readonly #held = new Map<string, Held>();

  constructor(cacheDir: string) {
    this.#folder = join(cacheDir, 'locks');
    mkdirSync(this.#folder, { recursive: true });
  }

  /** Locks a tree for use, whether it is there yet or not. Whoever finds it there afterwards keeps it. */
  use(key: string): Disposable {
    const held = this.#held.get(key) ?? { users: 0, lock: this.#shared(key) };
    this.#held.set(key, held);
    held.users += 1;
    let using = true;
    return {
      [Symbol.dispose]: () => {
        if (!using) return;
        using = false;
        held.users -= 1;
        if (held.users > 0) return;
        this.#held.delete(key);
        held.lock?.[Symbol.dispose]();
      },
    };
  }

  /** Locks a tree that is to go. Nothing while anybody uses it. */
  evict(key: string): Disposable | undefined {
    if (this.#held.has(key)) return undefined;
    try {
      return lockFile(this.#file(key), 'exclusive');
    } catch {
      return undefined;
    }
  }

  /** A tree whose file cannot be locked, on a full disk say, is used all the same. */
  #shared(key: string): Disposable | undefined {
    try {
      return lockFile(this.#file(key), 'shared', EVICTION_WAIT_MS);
    } catch {
      return undefined;
    }
  }

  /** Keys may be as long as a name of a file can be. */
  #file(key: string): string {
    return join(this.#folder, createHash('sha256').update(key).digest('hex').slice(0, 32));
  }
}

import { SHELL_START_TIMEOUT_MS } from '../limits.js';
import type { Shell } from './shell.js';

export interface PoolStats {
  /** Shells that are started, idle or busy. */
  readonly shells: number;
  readonly idle: number;
  readonly busy: number;
  readonly queued: number;
  /** Shells that were killed or lost, and replaced. */
  readonly replaced: number;
}

interface Waiter {
  give(shell: Shell): void;
  fail(error: Error): void;
}

/**
 * Shells that wait for work, and work that waits for shells. A shell is taken, used for one execution and given back, or
 * killed; who waits longest is served first.
 */
export class ShellPool {
  readonly #open: () => Promise<Shell>;
  readonly #size: number;
  readonly #maxQueue: number;
  readonly #startTimeoutMs: number;
  readonly #all = new Set<Shell>();
  readonly #idle: Shell[] = [];
  readonly #waiting = new Set<Waiter>();
  /** Starts that have not ended, and how many of them have no shell to show yet. */
  readonly #starting = new Set<Promise<void>>();
  #opening = 0;
  readonly #gone = new Set<Promise<void>>();
  #replaced = 0;
  #closed = false;

  constructor(
    open: () => Promise<Shell>,
    size: number,
    maxQueue: number,
    startTimeoutMs: number = SHELL_START_TIMEOUT_MS,
  ) {
    this.#open = open;
    this.#size = size;
    this.#maxQueue = maxQueue;
    this.#startTimeoutMs = startTimeoutMs;
  }

  get stats(): PoolStats {
    const shells = this.#all.size;
    const idle = this.#idle.length;
    return { shells, idle, busy: shells - idle, queued: this.#waiting.size, replaced: this.#replaced };
  }

  /** Takes an idle shell, or waits for one. Rejects when the pool is closed or full, a shell cannot start, or `signal` fires. */
  take(signal?: AbortSignal): Promise<Shell> {
    if (this.#closed) return Promise.reject(new Error('the executor is disposed'));
    if (signal?.aborted) return Promise.reject(new Error('aborted'));
    const shell = this.#idle.pop();
    if (shell) return Promise.resolve(shell);
    if (this.#waiting.size >= this.#maxQueue) {
      return Promise.reject(new Error(`${this.#maxQueue} executions are waiting already`));
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.delete(waiter);
        reject(new Error('aborted'));
      };
      const waiter: Waiter = {
        give: (given) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(given);
        },
        fail: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(waiter);
      this.#grow();
    });
  }

  /** Gives a shell back that can be used again. */
  giveBack(shell: Shell): void {
    if (!this.#all.has(shell)) return;
    const [waiter] = this.#waiting;
    if (waiter) {
      this.#waiting.delete(waiter);
      waiter.give(shell);
    } else if (this.#closed) this.#kill(shell);
    else this.#idle.push(shell);
  }

  /** Ends a shell that cannot be used again; another takes its place when it is needed. */
  discard(shell: Shell): void {
    if (!this.#all.has(shell)) return;
    this.#replaced += 1;
    this.#kill(shell);
    this.#grow();
  }

  /** Starts all shells. */
  async prewarm(): Promise<void> {
    if (this.#closed) throw new Error('the executor is disposed');
    // Who came meanwhile counts on these starts: for one that fails, another is made.
    while (this.#all.size + this.#opening < this.#size) this.#add().catch(() => this.#grow());
    await Promise.all(this.#starting);
  }

  /** Refuses new work, and what waits. */
  refuseWaiting(): void {
    this.#closed = true;
    for (const waiter of this.#waiting) waiter.fail(new Error('the executor is disposed'));
    this.#waiting.clear();
  }

  /** Refuses all work and ends every shell that is not in use. Resolves when all are gone, also those that just start. */
  async close(): Promise<void> {
    this.refuseWaiting();
    for (const shell of this.#idle.splice(0)) this.#kill(shell);
    await Promise.allSettled(this.#starting);
    await Promise.all(this.#gone);
  }

  #kill(shell: Shell): void {
    this.#all.delete(shell);
    shell.kill();
  }

  #grow(): void {
    if (this.#closed || this.#waiting.size <= this.#opening || this.#all.size + this.#opening >= this.#size) return;
    this.#add().catch((error: unknown) => {
      // Whoever waits longest hears of it; the others may still find a shell.
      const [waiter] = this.#waiting;
      if (!waiter) return;
      this.#waiting.delete(waiter);
      waiter.fail(error instanceof Error ? error : new Error(String(error)));
      this.#grow();
    });
  }

  #add(): Promise<void> {
    const starting = this.#start().finally(() => this.#starting.delete(starting));
    this.#starting.add(starting);
    return starting;
  }

  async #start(): Promise<void> {
    this.#opening += 1;
    let shell: Shell;
    try {
      shell = await this.#openReady();
    } finally {
      this.#opening -= 1;
    }
    this.#all.add(shell);
    shell.vacate();
    if (this.#closed) this.#kill(shell);
    else this.giveBack(shell);
    this.#grow();
  }

  async #openReady(): Promise<Shell> {
    const shell = await this.#open();
    const gone = shell.gone.then(() => {
      this.#gone.delete(gone);
      this.#lost(shell);
    });
    this.#gone.add(gone);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const reason = new Error(`a shell was not ready within ${this.#startTimeoutMs} ms`);
      timer = setTimeout(() => reject(reason), this.#startTimeoutMs);
    });
    try {
      await Promise.race([shell.ready, late]);
      return shell;
    } catch (error) {
      shell.kill();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /** A shell that died by itself is forgotten, and makes room for another; whoever uses it hears of it from its transport. */
  #lost(shell: Shell): void {
    if (!this.#all.delete(shell)) return;
    const at = this.#idle.indexOf(shell);
    if (at !== -1) this.#idle.splice(at, 1);
    this.#replaced += 1;
    this.#grow();
  }
}

/** What was let in, until `[Symbol.dispose]`. */
export type Turn = Disposable;

interface Waiting {
  readonly cost: number;
  readonly go: () => void;
}

/**
 * Lets so much be under way at once, and the rest wait for its turn, in order. What costs more than all there is goes
 * alone.
 */
export class Turns {
  readonly #most: number;
  readonly #waiting = new Set<Waiting>();
  #taken = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Resolves when it is let in. Rejects when the signal says that nobody needs it any more. */
  async take(cost: number, signal: AbortSignal | undefined): Promise<Turn> {
    signal?.throwIfAborted();
    if (this.#waiting.size > 0 || !this.#fits(cost)) await this.#wait(cost, signal);
    else this.#taken += cost;
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#taken -= cost;
        held = false;
        this.#letIn();
      },
    };
  }

  #wait(cost: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const leave = (): void => {
        this.#waiting.delete(waiting);
        reject(signal?.reason);
        this.#letIn();
      };
      const go = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const waiting = { cost, go };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  #fits(cost: number): boolean {
    return this.#taken === 0 || this.#taken + cost <= this.#most;
  }

  #letIn(): void {
    for (const waiting of this.#waiting) {
      if (!this.#fits(waiting.cost)) return;
      this.#waiting.delete(waiting);
      this.#taken += waiting.cost;
      waiting.go();
    }
  }
}

/** The end of one check's time. Waits end with it, each with its own words. */
export class Deadline {
  readonly limitMs: number;
  readonly #ends: number;
  readonly #signal: AbortController = new AbortController();
  readonly #timer: NodeJS.Timeout;
  #longestWaitMs = 0;

  constructor(limitMs: number) {
    this.limitMs = limitMs;
    this.#ends = performance.now() + limitMs;
    this.#timer = setTimeout(() => this.#signal.abort(), limitMs);
  }

  /** Fires when the time is up. */
  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  get remainingMs(): number {
    return Math.max(0, this.#ends - performance.now());
  }

  /** The longest time that something took that did happen. */
  get longestWaitMs(): number {
    return this.#longestWaitMs;
  }

  /** Gives what the promise gives, or throws what `late` makes when the time is up first. */
  async wait<T>(promise: Promise<T>, late: () => Error): Promise<T> {
    const from = performance.now();
    let fail = (): void => {};
    const over = new Promise<never>((_, reject) => {
      fail = () => reject(late());
    });
    if (this.signal.aborted) fail();
    else this.signal.addEventListener('abort', fail, { once: true });
    try {
      const given = await Promise.race([promise, over]);
      this.#longestWaitMs = Math.max(this.#longestWaitMs, performance.now() - from);
      return given;
    } finally {
      this.signal.removeEventListener('abort', fail);
      over.catch(() => {});
      promise.catch(() => {});
    }
  }

  /** Ends the time now, and with it all that waits or was tied to the signal. */
  expire(): void {
    clearTimeout(this.#timer);
    this.#signal.abort();
  }
}

/**
 * Where senders wait until there is room. All who come while it is shut share one promise; a gate that nobody waits at
 * costs nothing.
 *
 *     open ──wait()──▶ shut ──open()──▶ open
 */
export class Gate {
  #waiting: Promise<void> | undefined;
  #release: (() => void) | undefined;

  /** Whether anybody waits. */
  get shut(): boolean {
    return this.#waiting !== undefined;
  }

  /** Resolves when it is opened the next time. */
  wait(): Promise<void> {
    this.#waiting ??= new Promise((resolve) => {
      this.#release = resolve;
    });
    return this.#waiting;
  }

  /** Lets everybody go who waits. */
  open(): void {
    if (this.#waiting === undefined) return;
    this.#waiting = undefined;
    this.#release?.();
  }
}

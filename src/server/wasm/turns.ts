/** A number of places, and who waits for one, in the order of arrival. */
export class Turns {
  readonly #places: number;
  readonly #maxWaiting: number;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(places: number, maxWaiting: number) {
    this.#places = places;
    this.#maxWaiting = maxWaiting;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether somebody who comes now would be refused. */
  get full(): boolean {
    return this.#taken >= this.#places && this.#waiting.length >= this.#maxWaiting;
  }

  /** Takes a place at once, if there is one. */
  tryTake(): Disposable | undefined {
    if (this.#taken >= this.#places) return undefined;
    this.#taken += 1;
    return this.#place();
  }

  /** Takes a place, now or when it is free. */
  async take(signal: AbortSignal): Promise<Disposable> {
    const place = this.tryTake();
    if (place !== undefined) return place;
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(proceed), 1);
        reject(new Error('the caller went away'));
      };
      const proceed = (): void => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      if (signal.aborted) {
        reject(new Error('the caller went away'));
        return;
      }
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(proceed);
    });
    return this.#place();
  }

  #place(): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        const next = this.#waiting.shift();
        // The place passes on to whoever is next.
        if (next === undefined) this.#taken -= 1;
        else next();
      },
    };
  }
}

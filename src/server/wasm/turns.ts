import type { ServerLimits } from '../limits.js';

/** How many places there are, and how many may wait: they are read anew each time. */
type TurnLimits = Pick<ServerLimits, 'wasmGuests' | 'queuedWasmCalls'>;

/** A number of places, and who waits for one, in the order of arrival. */
export class Turns {
  readonly #limits: TurnLimits;
  readonly #waiting: (() => void)[] = [];
  #taken = 0;

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** Whether somebody who comes now would be refused. */
  get full(): boolean {
    return this.#taken >= this.#limits.wasmGuests && this.#waiting.length >= this.#limits.queuedWasmCalls;
  }

  /** Takes a place at once, if there is one. */
  tryTake(): Disposable | undefined {
    if (this.#taken >= this.#limits.wasmGuests) return undefined;
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

  /** Lets in whoever is next, as long as there are places. */
  #admit(): void {
    while (this.#taken < this.#limits.wasmGuests) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#taken += 1;
      next();
    }
  }

  #place(): Disposable {
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (!held) return;
        held = false;
        this.#taken -= 1;
        this.#admit();
      },
    };
  }
}

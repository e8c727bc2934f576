import { failure } from './failure.js';

/** A place that was granted; give it back exactly once. */
export interface Slot {
  release(): void;
}

interface Waiter {
  readonly grant: (slot: Slot) => void;
  readonly refuse: (error: unknown) => void;
  readonly stopListening: () => void;
}

export interface FairQueueOptions {
  /** Places at the same time. */
  readonly places: number;
  /** How many may wait, over all lanes. */
  readonly maxWaiting: number;
  readonly retryAfterSeconds: number;
}

/**
 * A bounded number of places and a bounded line in front of them, with one lane per client.
 *
 * Lanes take turns: a client that sent a hundred requests waits behind its own, not in front of everybody else's.
 */
export class FairQueue {
  readonly #options: FairQueueOptions;
  /** Lanes in the order of their turn. A lane that was served moves to the end. */
  readonly #lanes = new Map<string, Set<Waiter>>();
  #taken = 0;
  #waiting = 0;

  constructor(options: FairQueueOptions) {
    this.#options = options;
  }

  get taken(): number {
    return this.#taken;
  }

  get waiting(): number {
    return this.#waiting;
  }

  /** Waits for a place. Rejects with OVERLOADED when the line is full, and with the signal's reason when that fires. */
  acquire(lane: string, signal?: AbortSignal): Promise<Slot> {
    if (signal?.aborted) return Promise.reject(signal.reason);
    if (this.#taken < this.#options.places) return Promise.resolve(this.#take());
    if (this.#waiting >= this.#options.maxWaiting) {
      return Promise.reject(
        failure(
          'OVERLOADED',
          `${this.#waiting} requests wait already; try again in ${this.#options.retryAfterSeconds} s`,
          { retryAfterSeconds: this.#options.retryAfterSeconds },
          { retryable: true },
        ),
      );
    }
    return new Promise<Slot>((grant, refuse) => {
      const leave = (): void => {
        this.#remove(lane, waiter);
        refuse(signal?.reason);
      };
      const waiter: Waiter = { grant, refuse, stopListening: () => signal?.removeEventListener('abort', leave) };
      signal?.addEventListener('abort', leave, { once: true });
      const line = this.#lanes.get(lane) ?? new Set();
      line.add(waiter);
      this.#lanes.set(lane, line);
      this.#waiting += 1;
    });
  }

  #remove(lane: string, waiter: Waiter): void {
    const line = this.#lanes.get(lane);
    if (line?.delete(waiter) !== true) return;
    this.#waiting -= 1;
    if (line.size === 0) this.#lanes.delete(lane);
  }

  #take(): Slot {
    this.#taken += 1;
    let held = true;
    return {
      release: () => {
        if (!held) return;
        held = false;
        this.#taken -= 1;
        this.#next();
      },
    };
  }

  #next(): void {
    const [turn] = this.#lanes;
    if (turn === undefined) return;
    const [lane, line] = turn;
    const [waiter] = line;
    this.#lanes.delete(lane);
    if (waiter === undefined) return;
    line.delete(waiter);
    this.#waiting -= 1;
    if (line.size > 0) this.#lanes.set(lane, line);
    waiter.stopListening();
    waiter.grant(this.#take());
  }
}

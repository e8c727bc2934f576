import type { WireValue } from '../../wire/index.js';

/** Who keeps the books of a queue. */
export interface QueueOwner {
  /** This much has left the queue. */
  released(cost: number): void;
}

interface Waiter {
  readonly resolve: (result: IteratorResult<WireValue, undefined>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The chunks of one received stream, from the peer to one consumer, in order.
 *
 *     new ──open()──▶ open ──end()──▶ ended    what waits is still handed out
 *      ▲               ├────fail()────▶ failed   what waits is still handed out, then the error, once; what comes is thrown away
 *      │               ├────consumer stops──▶ abandoned: what waits and what comes is thrown away
 *      └───refuse()────┘   the consumer hears the error, once; another call can open it again
 *
 * It holds whatever it is given: its owner counts, and stops reading when it is too much.
 */
export class StreamQueue implements AsyncIterableIterator<WireValue, undefined> {
  owner: QueueOwner | undefined;
  /** Lets go of what is behind the consumer, when the stream was refused. */
  release: (() => void) | undefined;
  /** Since when the peer is silent while it could send, on the clock of the owner. */
  touchedAt = 0;
  /** What was thrown away since the consumer stopped. */
  discarded = 0;
  #chunks: WireValue[] = [];
  #costs: number[] = [];
  #head = 0;
  #waiters: Waiter[] = [];
  #closed: { readonly error: Error | undefined } | undefined;
  #abandoned = false;

  /** How many chunks wait for the consumer. */
  get waiting(): number {
    return this.#chunks.length - this.#head;
  }

  /** Takes one chunk. Says whether it has to be kept: a consumer that waits for it takes it at once. */
  push(chunk: WireValue, cost: number): 'kept' | 'taken' | 'discarded' {
    if (this.#abandoned || this.#closed !== undefined) {
      this.discarded += cost;
      return 'discarded';
    }
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) {
      waiter.resolve({ done: false, value: chunk });
      return 'taken';
    }
    this.#chunks.push(chunk);
    this.#costs.push(cost);
    return 'kept';
  }

  /** Begins: from now on the owner may push. */
  open(owner: QueueOwner, now: number): void {
    this.owner = owner;
    this.touchedAt = now;
    this.#closed = undefined;
  }

  /** Says that the stream never began: the message that would have announced it was not sent. */
  refuse(error: Error): void {
    this.owner = undefined;
    this.#close(error);
    this.release?.();
  }

  end(): void {
    this.#close(undefined);
  }

  fail(error: Error): void {
    this.#close(error);
  }

  next(): Promise<IteratorResult<WireValue, undefined>> {
    if (this.#head < this.#chunks.length) return Promise.resolve({ done: false, value: this.#take() });
    const closed = this.#closed;
    if (closed !== undefined) {
      if (closed.error === undefined) return Promise.resolve({ done: true, value: undefined });
      this.#closed = { error: undefined };
      return Promise.reject(closed.error);
    }
    if (this.#abandoned) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  return(): Promise<IteratorResult<WireValue, undefined>> {
    this.abandon();
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Throws away what waits and what comes. */
  abandon(): void {
    if (this.#abandoned) return;
    this.#abandoned = true;
    let cost = 0;
    for (let index = this.#head; index < this.#costs.length; index += 1) cost += this.#costs[index] ?? 0;
    this.#chunks = [];
    this.#costs = [];
    this.#head = 0;
    for (const waiter of this.#waiters.splice(0)) waiter.resolve({ done: true, value: undefined });
    if (cost > 0) this.owner?.released(cost);
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  #take(): WireValue {
    const chunk = this.#chunks[this.#head] ?? null;
    const cost = this.#costs[this.#head] ?? 0;
    // Whoever consumes slowly never empties the list: what was handed out must not stay in it.
    this.#chunks[this.#head] = null;
    this.#head += 1;
    if (this.#head === this.#chunks.length) {
      this.#chunks = [];
      this.#costs = [];
      this.#head = 0;
    } else if (this.#head > 1_024) {
      this.#chunks.splice(0, this.#head);
      this.#costs.splice(0, this.#head);
      this.#head = 0;
    }
    this.owner?.released(cost);
    return chunk;
  }

  #close(error: Error | undefined): void {
    if (this.#closed !== undefined) return;
    const [first, ...others] = this.#waiters.splice(0);
    this.#closed = { error: first === undefined ? error : undefined };
    if (error === undefined) first?.resolve({ done: true, value: undefined });
    else first?.reject(error);
    for (const waiter of others) waiter.resolve({ done: true, value: undefined });
  }
}

import { peerBacklog } from './refused-send.js';

/**
 * How much may wait for a peer. A message that is larger than the limit by itself is let through, and while it leaves the others
 * have the room that they would have without it: a peer that reads is not cut off because it asked for one large thing. For
 * one that does not read, no more waits than the limit and two such messages.
 */
export class Backlog {
  readonly #limit: number;
  /** The size of a message beyond the limit that was let through, until nothing waits any more. */
  #large = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Throws WIRE_BACKLOG when too much waits for another message to be sent; one within the limit is counted if `size` says how long it is. */
  check(waiting: number, size = 0): void {
    if (waiting === 0) this.#large = 0;
    const limit = this.#limit + this.#large;
    if (waiting + (size > this.#limit ? 0 : size) > limit) throw peerBacklog(waiting, limit);
  }

  /** Says how long a message is that was sent while so much waited. */
  sent(waiting: number, size: number): void {
    if (size > this.#limit && waiting <= this.#limit) this.#large = size;
  }
}

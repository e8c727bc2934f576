import { MAX_ID_CHARS } from '../limits.js';

/**
 * Ids that this side issues: one prefix per kind, and a number that counts up, so that an id which is no longer open but was
 * issued once can be told from one that never was, without remembering any.
 */
export class IdCounter {
  readonly #prefix: string;
  #next = 0;

  constructor(prefix: 'c' | 'cb_' | 'r' | 's') {
    this.#prefix = prefix;
  }

  /** A new id. */
  issue(): string {
    return `${this.#prefix}${this.#next++}`;
  }

  /** Tells whether it has given out this id: digits without leading zeros, below the next number. */
  issued(id: string): boolean {
    if (!id.startsWith(this.#prefix)) return false;
    const number = Number(id.slice(this.#prefix.length));
    return Number.isSafeInteger(number) && number < this.#next && id === `${this.#prefix}${number}`;
  }
}

/** Tells whether this can be the id of a stream: it comes out of parameters, where the peer may have put anything at all, or nothing. */
export function isStreamId(id: unknown): id is string {
  return typeof id === 'string' && id.length > 0 && id.length <= MAX_ID_CHARS;
}

const CALLBACK_ID = /^cb_(0|[1-9]\d{0,15})$/;

/** Tells whether a name could be taken for a callback of a call. */
export function isCallbackName(name: string): boolean {
  return CALLBACK_ID.test(name);
}

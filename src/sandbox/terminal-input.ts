import { writeSync } from 'node:fs';
import type { SallyportError } from '../errors/index.js';
import { type InputStream, inputBacklog, inputClosed } from './input.js';
import {
  INPUT_WRITE_BYTES,
  TERMINAL_PROMPT_RETRIES,
  TERMINAL_RETRY_MAX_MS,
  TERMINAL_RETRY_MIN_MS,
  TERMINAL_TURN_BYTES,
} from './limits.js';
import { errnoOf } from './resolve-program.js';

/** Hands bytes to the kernel without waiting: how many it took, none of them because it is full, or that nobody reads. */
export type TerminalWriter = (bytes: Uint8Array) => number | 'full' | 'closed';

/** Writes to the non-blocking master of a terminal. */
export function masterWriter(master: number): TerminalWriter {
  return (bytes) => {
    try {
      return writeSync(master, bytes);
    } catch (error) {
      const errno = errnoOf(error);
      return errno === 'EAGAIN' || errno === 'EINTR' ? 'full' : 'closed';
    }
  };
}

interface Waiting {
  rest: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: SallyportError) => void;
}

const END_OF_FILE_CHARACTER = Uint8Array.of(4);

/**
 * What is typed into a terminal.
 *
 *     idle ──write──▶ all taken: idle
 *                     kernel full: waiting ──the next few turns, then a timer that doubles while nothing moves──▶ try again
 *     any ──close()──▶ closed: whatever waits is rejected
 *
 * Node's own stream cannot do this: libuv knows no way to make the master of a terminal non-blocking for itself alone,
 * marks it as one that blocks, and turns in circles inside a write until the child reads. Node offers no way to wait
 * for a handle to take more, hence the waiting; a write that fits, which is nearly every one, never sees it.
 */
export class TerminalInput implements InputStream {
  readonly #writer: TerminalWriter;
  readonly #queueBytes: number;
  readonly #queue: Waiting[] = [];
  #waitingBytes = 0;
  #promptRetries = TERMINAL_PROMPT_RETRIES;
  #retryMs = TERMINAL_RETRY_MIN_MS;
  #timer: NodeJS.Timeout | undefined;
  #immediate: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(writer: TerminalWriter, queueBytes: number) {
    this.#writer = writer;
    this.#queueBytes = queueBytes;
  }

  write(bytes: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.reject(inputClosed());
    const waiting = this.#waitingBytes + this.#queue.length * INPUT_WRITE_BYTES;
    // A single write larger than the queue is fine while nothing else waits.
    if (waiting > 0 && waiting + bytes.length > this.#queueBytes) {
      return Promise.reject(inputBacklog(waiting, this.#queueBytes));
    }
    return new Promise((resolve, reject) => {
      const first = this.#queue.length === 0;
      this.#queue.push({ rest: bytes, resolve, reject });
      this.#waitingBytes += bytes.length;
      if (first) this.#pump();
    });
  }

  writeNow(bytes: Uint8Array): Promise<void> {
    return this.write(bytes);
  }

  end(): Promise<void> {
    return this.write(END_OF_FILE_CHARACTER);
  }

  /** Takes no more, and rejects what waits. Must come before the handle is closed, whose number may be another's next. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    clearImmediate(this.#immediate);
    this.#waitingBytes = 0;
    for (const { reject } of this.#queue.splice(0)) reject(inputClosed());
  }

  #pump(): void {
    let budget = TERMINAL_TURN_BYTES;
    for (let head = this.#queue[0]; head !== undefined; head = this.#queue[0]) {
      if (budget <= 0) {
        // A child that reads as fast as this writes must not keep everybody else waiting.
        this.#immediate = setImmediate(() => this.#pump());
        return;
      }
      const taken = head.rest.length === 0 ? 0 : this.#writer(head.rest.subarray(0, budget));
      if (taken === 'closed') return this.close();
      if (taken === 'full') {
        this.#retry();
        return;
      }
      this.#promptRetries = TERMINAL_PROMPT_RETRIES;
      this.#retryMs = TERMINAL_RETRY_MIN_MS;
      budget -= taken;
      this.#waitingBytes -= taken;
      head.rest = head.rest.subarray(taken);
      if (head.rest.length > 0) continue;
      this.#queue.shift();
      head.resolve();
    }
  }

  #retry(): void {
    if (this.#promptRetries > 0) {
      this.#promptRetries -= 1;
      this.#immediate = setImmediate(() => this.#pump());
      return;
    }
    this.#timer = setTimeout(() => this.#pump(), this.#retryMs);
    this.#retryMs = Math.min(this.#retryMs * 2, TERMINAL_RETRY_MAX_MS);
  }
}

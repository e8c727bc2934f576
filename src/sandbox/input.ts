import type { Writable } from 'node:stream';
import { SallyportError } from '../errors/index.js';
import { INPUT_WRITE_BYTES } from './limits.js';

/** Bytes to a child. */
export interface InputStream {
  /** Resolves when the kernel has taken all of it: wait for that, and a slow child slows its writer. */
  write(bytes: Uint8Array): Promise<void>;
  /** The same, but returns nothing when the kernel has taken all of it already, which costs no promise. */
  writeNow(bytes: Uint8Array): void | Promise<void>;
  /** Ends the input: closes a pipe, types the end-of-file character into a terminal. */
  end(): Promise<void>;
}

/** Says that a child takes no input any more. */
export function inputClosed(cause?: unknown): SallyportError {
  return new SallyportError('SPAWN_INPUT_CLOSED', 'the input of the child is closed', {}, { cause });
}

/** Says that too much waits for a child already. */
export function inputBacklog(waiting: number, limit: number): SallyportError {
  const message = `the child does not read: ${waiting} bytes of input wait already`;
  return new SallyportError('SPAWN_INPUT_BACKLOG', message, { waiting, limit });
}

/** The input of a pipe, on top of a Node stream, with a bounded queue. */
export class PipeInput implements InputStream {
  readonly #writable: Writable;
  readonly #queueBytes: number;

  /** Writes that the stream has not reported yet. */
  #writes = 0;
  #waiters: ((error: Error | null | undefined) => void)[] = [];

  constructor(writable: Writable, queueBytes: number) {
    this.#writable = writable;
    this.#queueBytes = queueBytes;
    // Failures reach whoever wrote; without a listener they would end this process instead.
    writable.on('error', () => {});
  }

  write(bytes: Uint8Array): Promise<void> {
    const refusal = this.#refusal(bytes.length);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise((resolve, reject) => {
      this.#writes += 1;
      this.#writable.write(bytes, (error) => {
        this.#writes -= 1;
        if (error) reject(inputClosed(error));
        else resolve();
      });
    });
  }

  writeNow(bytes: Uint8Array): void | Promise<void> {
    const refusal = this.#refusal(bytes.length);
    if (refusal !== undefined) return Promise.reject(refusal);
    this.#writes += 1;
    this.#writable.write(bytes, this.#written);
    // A stream hands over what it can at once, and counts what is left.
    if (this.#writable.writableLength === 0 && this.#writable.errored === null) return;
    return new Promise((resolve, reject) => {
      this.#waiters.push((error) => {
        if (error) reject(inputClosed(error));
        else resolve();
      });
    });
  }

  end(): Promise<void> {
    if (!this.#writable.writable) return Promise.resolve();
    return new Promise((resolve) => {
      // A child that went away first has no more use for the end of its input.
      this.#writable.once('close', resolve);
      this.#writable.end(() => resolve());
    });
  }

  /** Whoever waits hears when nothing is left, or of the first failure. */
  readonly #written = (error?: Error | null): void => {
    this.#writes -= 1;
    if (this.#waiters.length === 0 || (!error && this.#writable.writableLength > 0)) return;
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter(error);
  };

  #refusal(size: number): SallyportError | undefined {
    if (!this.#writable.writable) return inputClosed();
    const { writableLength } = this.#writable;
    const waiting = writableLength === 0 ? 0 : writableLength + this.#writes * INPUT_WRITE_BYTES;
    // A single write larger than the queue is fine while nothing else waits.
    if (waiting > 0 && waiting + size > this.#queueBytes) return inputBacklog(waiting, this.#queueBytes);
    return undefined;
  }
}

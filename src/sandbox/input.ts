import type { Writable } from 'node:stream';
import { SallyportError } from '../errors/index.js';

/** Bytes to a child. */
export interface InputStream {
  /** Resolves when the kernel has taken all of it: wait for that, and a slow child slows its writer. */
  write(bytes: Uint8Array): Promise<void>;
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

  constructor(writable: Writable, queueBytes: number) {
    this.#writable = writable;
    this.#queueBytes = queueBytes;
    // Failures reach whoever wrote; without a listener they would end this process instead.
    writable.on('error', () => {});
  }

  write(bytes: Uint8Array): Promise<void> {
    const waiting = this.#writable.writableLength;
    if (!this.#writable.writable) return Promise.reject(inputClosed());
    // A single write larger than the queue is fine while nothing else waits.
    if (waiting > 0 && waiting + bytes.length > this.#queueBytes) {
      return Promise.reject(inputBacklog(waiting, this.#queueBytes));
    }
    return new Promise((resolve, reject) => {
      this.#writable.write(bytes, (error) => {
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
}

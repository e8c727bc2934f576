import type { Readable } from 'node:stream';
import { DRAIN_BYTES } from './limits.js';

/** Bytes from a child, in order, as fast as the consumer takes them. Nothing is read before `onData` or `discard`. */
export interface OutputStream {
  readonly name: string;
  /** Hands every chunk (up to 64 KiB) to the one consumer, from now on. */
  onData(consumer: (chunk: Buffer) => void): void;
  /** Reads and forgets, so that the child never waits for a reader. */
  discard(): void;
  /** Stops reading. The kernel's buffer fills up, and then the child waits. */
  pause(): void;
  resume(): void;
  /** Resolves when all was handed over and nobody can write any more, or when the stream was given up. */
  readonly ended: Promise<void>;
}

/** An output on top of a Node stream, which also knows whether it has run dry. */
export class StreamOutput implements OutputStream {
  readonly name: string;
  readonly ended: Promise<void>;
  readonly #readable: Readable;
  #consumer: ((chunk: Buffer) => void) | undefined;
  #flowing = false;
  #ended = false;
  #chunks = 0;
  #bytes = 0;
  readonly #rest: (() => Buffer) | undefined;
  #meter: ((bytes: number) => void) | undefined;
  #wake: (() => void) | undefined;

  /** `rest` supplies what the kernel holds and Node does not know of. */
  constructor(name: string, readable: Readable, rest?: () => Buffer) {
    this.name = name;
    this.#rest = rest;
    this.#readable = readable;
    readable.on('data', (chunk: Buffer) => this.#deliver(chunk));
    // Listening starts the flow, and Node starts it again by itself when the process exits. Only the consumer may.
    readable.pause();
    readable.on('resume', () => {
      if (!this.#flowing) readable.pause();
    });
    this.ended = new Promise((resolve) => {
      const end = (): void => {
        if (this.#ended) return;
        this.#ended = true;
        resolve();
        this.#changed();
      };
      readable.once('end', () => {
        this.#deliverRest();
        readable.destroy();
        end();
      });
      // A terminal ends with EIO when its last writer leaves; any other failure ends the stream as well.
      readable.on('error', end);
      readable.once('close', end);
    });
  }

  onData(consumer: (chunk: Buffer) => void): void {
    this.#consumer = consumer;
    this.resume();
  }

  discard(): void {
    this.onData(() => {});
  }

  pause(): void {
    this.#flowing = false;
    this.#readable.pause();
  }

  resume(): void {
    if (this.#consumer === undefined) return;
    this.#flowing = true;
    this.#readable.resume();
    this.#changed();
  }

  /** Tells one listener how much is handed over. */
  onBytes(meter: (bytes: number) => void): void {
    this.#meter = meter;
  }

  /** Gives the stream up. */
  destroy(): void {
    this.#readable.destroy();
  }

  /**
   * Resolves when all that was written before the call has been handed over. Other processes may hold the far end open
   * for ever, so the end of the stream is no sign; a whole turn of the event loop that reads nothing is, and on a terminal
   * that a read finds nothing: the kernel brings bytes to the master's side in its own time, or when somebody reads. Others
   * may write without a pause; then it is enough that as much was read as the kernel can have held.
   */
  async drained(): Promise<void> {
    const enough = this.#bytes + this.#readable.readableLength + DRAIN_BYTES;
    while (!this.#ended && this.#bytes < enough) {
      if (!this.#flowing) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      // The first of the two only leaves the current turn, which may have polled before the last bytes came.
      await new Promise((resolve) => setImmediate(resolve));
      const seen = this.#chunks;
      await new Promise((resolve) => setImmediate(resolve));
      const quiet = this.#chunks === seen && this.#readable.readableLength === 0;
      if (quiet && this.#flowing && !this.#deliverRest()) return;
    }
  }

  /** False when there was none. */
  #deliverRest(): boolean {
    const left = this.#readable.destroyed ? undefined : this.#rest?.();
    if (left === undefined || left.length === 0) return false;
    this.#deliver(left);
    return true;
  }

  #deliver(chunk: Buffer): void {
    this.#chunks += 1;
    this.#bytes += chunk.length;
    this.#meter?.(chunk.length);
    this.#consumer?.(chunk);
  }

  #changed(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

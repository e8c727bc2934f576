import { messageOfThrown } from '../../capabilities/index.js';
import { type OutgoingMessage, streamChunk, streamEnd, streamError } from '../messages.js';

/** How a stream reaches the peer. */
export interface StreamPort {
  send(message: OutgoingMessage): void | Promise<void>;
  now(): number;
}

const FAILED = 'the stream failed';

/**
 * Carries an async iterable to the peer, as fast as the peer takes it.
 *
 *     running ──source ends──▶ StreamEnd      ──source throws──▶ StreamError      ──stop()──▶ nothing more is sent
 */
export class SentStream {
  /** Resolves when nothing more is sent. Never rejects. */
  readonly finished: Promise<void>;
  /** Since when the peer has not taken a chunk; undefined while it does. */
  blockedSince: number | undefined;
  readonly #id: string;
  readonly #port: StreamPort;
  #iterator: AsyncIterator<unknown> | undefined;
  #stopped = false;
  #finish!: () => void;

  constructor(id: string, iterable: AsyncIterable<unknown>, port: StreamPort) {
    this.#id = id;
    this.#port = port;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    void this.#run(iterable);
  }

  /** Ends it from this side, with a StreamError if a reason is given. The source is told to stop, and not waited for. */
  stop(reason?: string): void {
    if (this.#stopped) return;
    if (reason !== undefined) this.#say(streamError(this.#id, reason));
    this.#end();
    this.#close();
  }

  async #run(iterable: AsyncIterable<unknown>): Promise<void> {
    try {
      this.#iterator = iterable[Symbol.asyncIterator]();
      while (!this.#stopped) {
        const step = await this.#iterator.next();
        if (this.#stopped) return;
        if (step.done === true) {
          this.#say(streamEnd(this.#id));
          break;
        }
        const pending = this.#send(step.value);
        if (pending === undefined) continue;
        this.blockedSince = this.#port.now();
        await pending;
        this.blockedSince = undefined;
      }
    } catch (error) {
      if (!this.#stopped) this.#say(streamError(this.#id, messageOfThrown(error, FAILED)));
    } finally {
      this.#end();
    }
  }

  /** Sends one chunk. One that cannot be sent ends the stream, and the source with it. */
  #send(chunk: unknown): void | Promise<void> {
    try {
      return this.#port.send(streamChunk(this.#id, chunk));
    } catch (error) {
      this.stop(messageOfThrown(error, FAILED));
    }
  }

  #end(): void {
    this.#stopped = true;
    this.#finish();
  }

  #say(message: OutgoingMessage): void {
    try {
      void this.#port.send(message);
    } catch {
      // The session has ended, and with it every stream.
    }
  }

  #close(): void {
    // A generator that is suspended in a promise of its own returns only when that settles.
    try {
      Promise.resolve(this.#iterator?.return?.()).catch(() => {});
    } catch {
      // A source that cannot be told to stop is not asked for more either.
    }
  }
}

import { messageOfThrown } from '../../capabilities/index.js';
import { isSallyportError } from '../../errors/index.js';
import { type OutgoingMessage, streamChunk, streamEnd, streamError } from '../messages.js';

/** How a stream reaches the peer. */
export interface StreamPort {
  send(message: OutgoingMessage): void | Promise<void>;
  now(): number;
}

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
  readonly #iterator: AsyncIterator<unknown>;
  readonly #port: StreamPort;
  #stopped = false;
  #release: (() => void) | undefined;

  constructor(id: string, iterable: AsyncIterable<unknown>, port: StreamPort) {
    this.#id = id;
    this.#iterator = iterable[Symbol.asyncIterator]();
    this.#port = port;
    this.finished = this.#run();
  }

  /** Ends it from this side, with a StreamError if a reason is given. The source is told to stop, and not waited for. */
  stop(reason?: string): void {
    if (this.#stopped) return;
    this.#stopped = true;
    if (reason !== undefined) this.#say(streamError(this.#id, reason));
    this.#release?.();
    this.#close();
  }

  async #run(): Promise<void> {
    const stopped = new Promise<undefined>((resolve) => {
      this.#release = () => resolve(undefined);
    });
    try {
      while (!this.#stopped) {
        const step = await Promise.race([this.#iterator.next(), stopped]);
        if (this.#stopped || step === undefined) return;
        if (step.done === true) break;
        const pending = this.#port.send(streamChunk(this.#id, step.value));
        if (pending === undefined) continue;
        this.blockedSince = this.#port.now();
        await Promise.race([pending, stopped]);
        this.blockedSince = undefined;
      }
      if (!this.#stopped) this.#say(streamEnd(this.#id));
    } catch (error) {
      if (this.#stopped) return;
      this.#say(streamError(this.#id, messageOfThrown(error, 'the stream failed')));
      // The source may still run when it was a chunk that could not be sent.
      if (isSallyportError(error)) this.#close();
    } finally {
      this.#stopped = true;
    }
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
    Promise.resolve(this.#iterator.return?.()).catch(() => {});
  }
}

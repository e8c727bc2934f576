import type { Readable, Writable } from 'node:stream';
import { SallyportError } from '../errors/index.js';
import { Inbox } from './inbox.js';
import { MAX_BACKLOG_BYTES, SEND_HIGH_WATER_BYTES } from './limits.js';
import type { MessageDecoder } from './message-decoder.js';
import type { CloseReason, Transport, Unsubscribe } from './transport.js';

/** The clock that a partial-message timer runs on. Handed in, so that tests need no waiting. */
export interface Clock {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

export const REAL_CLOCK: Clock = {
  setTimeout: (callback, ms) => setTimeout(callback, ms).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export interface StreamTransportOptions<In, Out> {
  readonly readable: Readable;
  readonly writable: Writable;
  readonly decoder: MessageDecoder<In>;
  /** Encodes one message, its framing included. Throws if the message cannot be sent. */
  readonly encode: (message: Out) => Uint8Array | string;
  /** How long a message may stay half-arrived, in milliseconds. No limit by default. */
  readonly partialTimeoutMs?: number;
  /** How many bytes may wait for a peer that does not read. */
  readonly maxBacklogBytes?: number;
  readonly clock?: Clock;
  /** Ends what is behind the streams when the transport is terminated: a child process, say. */
  readonly onTerminate?: () => void;
}

/** Carries messages over a pair of byte streams: a child's stdio, our own, or a socket. */
export function streamTransport<In, Out>(options: StreamTransportOptions<In, Out>): Transport<In, Out> {
  return new StreamTransport(options);
}

class StreamTransport<In, Out> implements Transport<In, Out> {
  readonly #options: StreamTransportOptions<In, Out>;
  readonly #inbox: Inbox<In>;
  readonly #clock: Clock;
  readonly #maxBacklog: number;
  #outgoing: (Uint8Array | string)[] = [];
  #outgoingBytes = 0;
  #flushScheduled = false;
  #drained: Promise<void> | undefined;
  #releaseDrained: (() => void) | undefined;
  #partialTimer: unknown;

  constructor(options: StreamTransportOptions<In, Out>) {
    this.#options = options;
    this.#clock = options.clock ?? REAL_CLOCK;
    this.#maxBacklog = options.maxBacklogBytes ?? MAX_BACKLOG_BYTES;
    const { readable, writable } = options;
    this.#inbox = new Inbox<In>({ pause: () => readable.pause(), resume: () => readable.resume() });
    readable.on('data', this.#onData);
    readable.pause();
    readable.on('end', this.#onEnd);
    readable.on('error', this.#onError);
    readable.on('close', this.#onReadableClose);
    writable.on('error', this.#onError);
    writable.on('drain', this.#onDrain);
  }

  send(message: Out): void | Promise<void> {
    const closed = this.#inbox.closeReason;
    if (closed) throw new SallyportError('WIRE_CLOSED', `the transport is closed: ${closed.message}`);
    const encoded = this.#options.encode(message);
    const size = typeof encoded === 'string' ? Buffer.byteLength(encoded) : encoded.byteLength;
    const waiting = this.#outgoingBytes + this.#options.writable.writableLength;
    if (waiting > 0 && waiting + size > this.#maxBacklog) {
      const error = new SallyportError('WIRE_BACKLOG', `the peer does not read: ${waiting} bytes wait to be sent`, {
        waiting,
        limit: this.#maxBacklog,
      });
      this.#fail(error);
      throw error;
    }
    this.#outgoing.push(encoded);
    this.#outgoingBytes += size;
    if (!this.#flushScheduled) {
      this.#flushScheduled = true;
      queueMicrotask(this.#flush);
    }
    if (waiting + size < SEND_HIGH_WATER_BYTES) return;
    this.#drained ??= new Promise((resolve) => {
      this.#releaseDrained = resolve;
    });
    return this.#drained;
  }

  onMessage(handler: (message: In) => void | Promise<void>): Unsubscribe {
    return this.#inbox.onMessage(handler);
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    return this.#inbox.onClose(handler);
  }

  close(reason = 'closed by this side'): void {
    if (this.#inbox.closeReason) return;
    this.#flush();
    this.#options.writable.end();
    this.#finish({ kind: 'closed', message: reason });
  }

  terminate(): void {
    this.#inbox.abort({ kind: 'terminated', message: 'terminated by this side' });
    this.#release();
    this.#options.writable.destroy();
    this.#options.readable.destroy();
    this.#options.onTerminate?.();
  }

  // Messages that are sent in the same turn leave in one write.
  readonly #flush = (): void => {
    this.#flushScheduled = false;
    const { writable } = this.#options;
    const batch = this.#outgoing;
    this.#outgoing = [];
    this.#outgoingBytes = 0;
    if (batch.length === 0 || writable.destroyed || writable.writableEnded) return;
    let full = false;
    if (batch.length === 1) full = !writable.write(batch[0]);
    else if (batch.every((part) => typeof part === 'string')) full = !writable.write(batch.join(''));
    else {
      writable.cork();
      for (const part of batch) full = !writable.write(part);
      writable.uncork();
    }
    if (!full) this.#onDrain();
  };

  readonly #onDrain = (): void => {
    if (this.#outgoingBytes > 0) return;
    this.#releaseDrained?.();
    this.#releaseDrained = undefined;
    this.#drained = undefined;
  };

  readonly #onData = (chunk: Uint8Array): void => {
    try {
      this.#options.decoder.push(chunk, (message) => this.#inbox.push(message));
    } catch (error) {
      this.#fail(asError(error));
      return;
    }
    this.#watchPartial();
  };

  readonly #onEnd = (): void => {
    try {
      this.#options.decoder.end((message) => this.#inbox.push(message));
      this.#finish({ kind: 'peer-closed', message: 'the peer closed the stream' });
    } catch (error) {
      this.#fail(asError(error));
    }
  };

  readonly #onError = (error: Error): void => {
    // A broken pipe means that the peer went away; what it sent before is still delivered.
    this.#finish({ kind: 'error', message: error.message, error });
  };

  readonly #onReadableClose = (): void => {
    this.#finish({ kind: 'peer-closed', message: 'the stream was destroyed' });
  };

  #watchPartial(): void {
    const limit = this.#options.partialTimeoutMs;
    if (limit === undefined) return;
    this.#clock.clearTimeout(this.#partialTimer);
    if (!this.#options.decoder.pending || this.#inbox.closeReason) return;
    this.#partialTimer = this.#clock.setTimeout(() => {
      this.#fail(
        new SallyportError('WIRE_FRAME_TIMEOUT', `a message stayed incomplete for ${limit} ms`, { limitMs: limit }),
      );
    }, limit);
  }

  #finish(reason: CloseReason): void {
    this.#clock.clearTimeout(this.#partialTimer);
    this.#release();
    this.#inbox.finish(reason);
  }

  #fail(error: Error): void {
    this.#finish({ kind: 'error', message: error.message, error });
    this.#options.readable.destroy();
    this.#options.writable.destroy();
  }

  #release(): void {
    this.#outgoingBytes = 0;
    this.#onDrain();
  }
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

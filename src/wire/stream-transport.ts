import type { Readable, Writable } from 'node:stream';
import { SallyportError } from '../errors/index.js';
import { Backlog } from './backlog.js';
import { Gate } from './gate.js';
import { Inbox } from './inbox.js';
import { LAST_WORDS_MS, MAX_BACKLOG_BYTES } from './limits.js';
import type { MessageDecoder } from './message-decoder.js';
import { transportClosed } from './refused-send.js';
import type { CloseReason, Transport, Unsubscribe } from './transport.js';

/** The clock that timers of a transport run on. Handed in, so that tests need no waiting. */
export interface Clock {
  setTimeout(callback: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** A timer alone must not keep a process alive: the pipe that it watches does. */
export const REAL_CLOCK: Clock = {
  setTimeout: (callback, ms) => setTimeout(callback, ms).unref(),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
};

export interface StreamTransportOptions<In, Out> {
  readonly readable: Readable;
  readonly writable: Writable;
  readonly decoder: MessageDecoder<In>;
  /** Encodes one message, its framing included. What it throws, `send` throws. */
  readonly encode: (message: Out) => Uint8Array | string;
  /** How long one message may take from its first byte to its last, in milliseconds. No limit by default. */
  readonly partialTimeoutMs?: number;
  /** Most bytes that wait for a peer that does not read. A message that comes on top is refused with `WIRE_BACKLOG`. */
  readonly maxBacklogBytes?: number;
  /**
   * When messages leave: together at the end of the turn in which they were sent (`turn`, the default), or each at once
   * (`message`), for a sender whose turns may be cut off.
   */
  readonly flush?: 'turn' | 'message';
  readonly clock?: Clock;
  /** Set by codecs that also take an `EncodedJson`. */
  readonly carriesJson?: true;
  /** Ends what is behind the streams when the transport is terminated: a child process, say. */
  readonly onTerminate?: () => void;
}

/** Encoded messages up to here are gathered into one buffer; larger ones are not worth a copy. */
const GATHER_BYTES = 16 * 1024;

/** Carries messages over a pair of byte streams: a child's stdio, our own, or a socket. It owns both from now on. */
export function streamTransport<In, Out>(options: StreamTransportOptions<In, Out>): Transport<In, Out> {
  return new StreamTransport(options);
}

/**
 *     open ──close()──────────────▶ closed: what was sent is flushed, the writable ended, input discarded until the peer ends
 *      ├────readable ends─────────▶ closed (peer-closed), after every message before the end; the writable is ended
 *      ├────writable breaks───────▶ listening: nothing can be sent, the peer's last words are read ──▶ closed (error)
 *      ├────violation, timeout────▶ closed (error), after every message before it; both streams destroyed
 *      └────terminate()───────────▶ closed (terminated) now; both streams destroyed
 */
class StreamTransport<In, Out> implements Transport<In, Out> {
  readonly carriesJson?: true;
  readonly #options: StreamTransportOptions<In, Out>;
  readonly #inbox: Inbox<In>;
  readonly #clock: Clock;
  readonly #backlog: Backlog;
  #outgoing: (Uint8Array | string)[] = [];
  #outgoingBytes = 0;
  readonly #space = new Gate();
  #broken: Error | undefined;
  #reading = false;
  #timer: unknown;
  /** Which message the timer is for, counted from the start; undefined when none runs. */
  #timed: number | undefined;

  constructor(options: StreamTransportOptions<In, Out>) {
    this.#options = options;
    if (options.carriesJson) this.carriesJson = true;
    this.#clock = options.clock ?? REAL_CLOCK;
    this.#backlog = new Backlog(options.maxBacklogBytes ?? MAX_BACKLOG_BYTES);
    const { readable, writable } = options;
    this.#inbox = new Inbox<In>({
      pause: () => {
        this.#reading = false;
        readable.pause();
        this.#watchPartial();
      },
      resume: () => {
        this.#reading = true;
        readable.resume();
        this.#watchPartial();
      },
      fail: (error) => this.#fail(error),
    });
    // Listening from the start and paused: a child that exits has its pipes resumed by Node, listener or not.
    readable.on('data', this.#onData);
    readable.pause();
    readable.on('end', this.#onEnd);
    readable.on('close', this.#onEnd);
    readable.on('error', (error: Error) => this.#finish({ kind: 'error', message: error.message, error }));
    writable.on('error', this.#onBroken);
    writable.on('drain', this.#onDrain);
  }

  send(message: Out): void | Promise<void> {
    const closed = this.#inbox.closeReason?.message ?? this.#broken?.message;
    if (closed !== undefined) throw transportClosed(closed);
    const encoded = this.#options.encode(message);
    const size = typeof encoded === 'string' ? Buffer.byteLength(encoded) : encoded.byteLength;
    const waiting = this.#outgoingBytes + this.#options.writable.writableLength;
    this.#backlog.check(waiting, size);
    this.#backlog.sent(waiting, size);
    const atOnce = this.#options.flush === 'message';
    if (this.#outgoing.length === 0 && !atOnce) queueMicrotask(this.#flush);
    this.#outgoing.push(encoded);
    this.#outgoingBytes += size;
    if (atOnce) {
      this.#flush();
      if (!this.#options.writable.writableNeedDrain) return;
    } else if (waiting + size < this.#options.writable.writableHighWaterMark) return;
    return this.#space.wait();
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
    this.#finish({ kind: 'closed', message: reason });
    // Unread input would keep the peer from seeing our end.
    this.#options.readable.resume();
  }

  terminate(): void {
    this.#inbox.abort({ kind: 'terminated', message: 'terminated by this side' });
    this.#stopTimer();
    this.#space.open();
    this.#destroy();
    this.#options.onTerminate?.();
  }

  /** Messages that are sent in the same turn leave in one write. */
  readonly #flush = (): void => {
    const { writable } = this.#options;
    const batch = this.#outgoing;
    this.#outgoing = [];
    this.#outgoingBytes = 0;
    if (batch.length === 0 || writable.destroyed || writable.writableEnded) return;
    let more = true;
    writable.cork();
    for (const part of gather(batch)) more = writable.write(part);
    writable.uncork();
    if (more || !writable.writableNeedDrain) this.#onDrain();
  };

  readonly #onDrain = (): void => {
    if (this.#outgoingBytes === 0) this.#space.open();
  };

  readonly #onData = (chunk: Uint8Array): void => {
    if (this.#inbox.closeReason) return;
    try {
      this.#options.decoder.push(chunk, (message) => this.#inbox.push(message));
    } catch (error) {
      this.#fail(asError(error));
      return;
    }
    this.#watchPartial();
  };

  readonly #onEnd = (): void => {
    if (this.#inbox.closeReason) return;
    try {
      this.#options.decoder.end((message) => this.#inbox.push(message));
    } catch (error) {
      this.#fail(asError(error));
      return;
    }
    const error = this.#broken;
    this.#finish(
      error
        ? { kind: 'error', message: error.message, error }
        : { kind: 'peer-closed', message: 'the peer closed the stream' },
    );
  };

  /** A broken output means that the peer went away; what it said before is still read, for a while. */
  readonly #onBroken = (error: Error): void => {
    if (this.#inbox.closeReason || this.#broken) return;
    this.#broken = error;
    this.#space.open();
    this.#stopTimer();
    this.#timer = this.#clock.setTimeout(() => this.#fail(error), LAST_WORDS_MS);
  };

  /** The time of a message runs from its first byte and only while we read, however many drops it comes in. */
  #watchPartial(): void {
    const { partialTimeoutMs: limit, decoder } = this.#options;
    if (limit === undefined || this.#broken) return;
    const wanted = decoder.pending && this.#reading && !this.#inbox.closeReason ? decoder.completed : undefined;
    if (wanted === this.#timed) return;
    this.#stopTimer();
    if (wanted === undefined) return;
    this.#timed = wanted;
    this.#timer = this.#clock.setTimeout(() => {
      this.#fail(
        new SallyportError('WIRE_FRAME_TIMEOUT', `a message stayed incomplete for ${limit} ms`, { limitMs: limit }),
      );
    }, limit);
  }

  #stopTimer(): void {
    this.#clock.clearTimeout(this.#timer);
    this.#timed = undefined;
  }

  #finish(reason: CloseReason): void {
    this.#stopTimer();
    this.#space.open();
    this.#inbox.finish(reason);
    this.#options.writable.end();
  }

  #fail(error: Error): void {
    this.#finish({ kind: 'error', message: error.message, error });
    this.#destroy();
  }

  #destroy(): void {
    this.#options.writable.destroy();
    this.#options.readable.destroy();
  }
}

/** Joins neighbours that are small or text, so that a burst of messages is one write. */
function gather(parts: readonly (Uint8Array | string)[]): (Uint8Array | string)[] {
  if (parts.length === 1) return [...parts];
  if (parts.every((part) => typeof part === 'string')) return [parts.join('')];
  const joined: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const flushSmall = (): void => {
    if (small.length > 0) joined.push(small.length === 1 ? (small[0] as Uint8Array) : Buffer.concat(small));
    small = [];
  };
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    if (bytes.byteLength <= GATHER_BYTES) small.push(bytes);
    else {
      flushSmall();
      joined.push(bytes);
    }
  }
  flushSmall();
  return joined;
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

import type { Readable, Writable } from 'node:stream';
import { SallyportError } from '../errors/index.js';
import { FrameDecoder } from './frames.js';
import { FRAME_TIMEOUT_MS, MAX_BACKLOG_BYTES, MAX_FRAME_BYTES } from './limits.js';
import type { CloseReason, Transport, Unsubscribe } from './transport.js';

export interface FrameTransportLimits {
  /** Largest payload that is received. Default: 16 MiB. */
  readonly maxFrameBytes?: number;
  /** Most bytes that wait to be written. A message that comes on top is refused with `WIRE_BACKLOG`. Default: 64 MiB. */
  readonly maxBacklogBytes?: number;
  /** How long one frame may take to arrive, in milliseconds. Default: 10 s. */
  readonly frameTimeoutMs?: number;
}

/** A clock that can be handed in. The handle is whatever the clock makes of it. */
export interface FrameClock {
  setTimeout(callback: () => void, milliseconds: number): unknown;
  clearTimeout(handle: unknown): void;
}

export interface FrameTransportOptions<In, Out> {
  /** Where frames come from: the stdout of a child, or a socket. */
  readonly readable: Readable;
  /** Where frames go: the stdin of a child, or the same socket. */
  readonly writable: Writable;
  /** Makes a message of one payload; what it throws ends the transport. The payload must not be written to. */
  readonly decode: (payload: Uint8Array) => In;
  /** Makes one whole frame, header included, of a message: `encodeFrame`, say. What it throws, `send` throws. */
  readonly encode: (message: Out) => Uint8Array;
  readonly limits?: FrameTransportLimits;
  readonly clock?: FrameClock;
}

/** Frames up to here are gathered into one buffer; larger ones are not worth a copy. */
const GATHER_BYTES = 16 * 1024;

// A timer alone must not keep a process alive: the pipe that it watches does.
const systemClock: FrameClock = {
  setTimeout: (callback, milliseconds) => setTimeout(callback, milliseconds).unref(),
  clearTimeout: (handle) => {
    if (handle instanceof Object && Symbol.toPrimitive in handle) clearTimeout(Number(handle));
  },
};

/** Carries messages as frames over a pair of Node streams. It owns both streams from now on. */
export function frameTransport<In, Out>(options: FrameTransportOptions<In, Out>): Transport<In, Out> {
  return new FrameTransport(options);
}

/**
 *     open ──close()──────────────▶ closed: what was sent is flushed, the writable ended, input discarded until the peer ends
 *      ├────readable ends─────────▶ closed (peer-closed), once every message before the end is handled; writable ended
 *      ├────bad frame, timeout────▶ closed (error), once every message before it is handled; both streams destroyed
 *      └────terminate()───────────▶ closed (terminated) now; both streams destroyed
 */
class FrameTransport<In, Out> implements Transport<In, Out> {
  private readonly readable: Readable;
  private readonly writable: Writable;
  private readonly decodePayload: (payload: Uint8Array) => In;
  private readonly encodeMessage: (message: Out) => Uint8Array;
  private readonly clock: FrameClock;
  private readonly maxBacklogBytes: number;
  private readonly frameTimeoutMs: number;
  private readonly decoder: FrameDecoder;

  private readonly messageHandlers = new Set<(message: In) => void | Promise<void>>();
  private readonly closeHandlers = new Set<(reason: CloseReason) => void>();
  /** Payloads that are complete but not handled: at most those of one chunk, as reading pauses meanwhile. */
  private inbox: Uint8Array[] = [];
  private inboxAt = 0;
  private handling = false;
  /** Why the input is over; it takes effect when the inbox is empty. */
  private ending: CloseReason | undefined;
  private closed: CloseReason | undefined;

  private outbox: Uint8Array[] = [];
  private outboxBytes = 0;
  private room: { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } | undefined;
  private writeError: Error | undefined;

  private timer: unknown;
  private timedFrame = -1;

  constructor(options: FrameTransportOptions<In, Out>) {
    const { limits = {} } = options;
    this.readable = options.readable;
    this.writable = options.writable;
    this.decodePayload = options.decode;
    this.encodeMessage = options.encode;
    this.clock = options.clock ?? systemClock;
    this.maxBacklogBytes = limits.maxBacklogBytes ?? MAX_BACKLOG_BYTES;
    this.frameTimeoutMs = limits.frameTimeoutMs ?? FRAME_TIMEOUT_MS;
    this.decoder = new FrameDecoder({ maxFrameBytes: limits.maxFrameBytes ?? MAX_FRAME_BYTES });

    // Listening from the start and paused: a child that exits has its pipes resumed by Node, listener or not.
    this.readable.on('data', (chunk: Uint8Array) => this.receive(chunk));
    this.readable.pause();
    this.readable.on('end', () => this.inputEnded());
    this.readable.on('close', () => this.inputEnded());
    this.readable.on('error', (error) => this.endAfterInbox(failed('The input failed', error)));
    this.writable.on('drain', () => this.makeRoom());
    this.writable.on('error', (error) => this.outputFailed(error));
  }

  send(message: Out): void | Promise<void> {
    if (this.closed !== undefined || this.writeError !== undefined) throw this.closedError();
    const frame = this.encodeMessage(message);
    const waiting = this.outboxBytes + this.writable.writableLength;
    if (waiting > 0 && waiting + frame.length > this.maxBacklogBytes) {
      throw new SallyportError('WIRE_BACKLOG', `The peer does not read: ${waiting} bytes wait to be sent to it`, {
        waiting,
        limit: this.maxBacklogBytes,
      });
    }
    if (this.outbox.length === 0) queueMicrotask(() => this.flush());
    this.outbox.push(frame);
    this.outboxBytes += frame.length;
    if (waiting + frame.length >= this.writable.writableHighWaterMark) return this.roomPromise();
  }

  onMessage(handler: (message: In) => void | Promise<void>): Unsubscribe {
    this.messageHandlers.add(handler);
    // In a microtask, so that the subscriber has the return value before the first message.
    queueMicrotask(() => this.deliver());
    return () => {
      this.messageHandlers.delete(handler);
    };
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    const { closed } = this;
    let active = true;
    const once = (reason: CloseReason): void => {
      if (active) handler(reason);
      active = false;
    };
    if (closed === undefined) this.closeHandlers.add(once);
    else queueMicrotask(() => once(closed));
    return () => {
      active = false;
      this.closeHandlers.delete(once);
    };
  }

  close(reason?: string): void {
    if (this.closed !== undefined) return;
    this.flush();
    this.finish({ kind: 'closed', message: reason ?? 'Closed on this side' });
  }

  terminate(): void {
    this.finish({ kind: 'terminated', message: 'Terminated on this side' });
    // Also after a polite close whose peer does not hang up.
    this.destroyStreams();
  }

  private receive(chunk: Uint8Array): void {
    if (this.closed !== undefined || this.ending !== undefined) return;
    try {
      this.decoder.push(chunk, (payload) => this.inbox.push(payload));
    } catch (error) {
      this.ending = failed('A bad frame came in', error);
    }
    this.deliver();
    this.watchFrame();
  }

  /** Hands out what is in the inbox, one message after the other, for as long as nobody asks to wait. */
  private deliver(): void {
    if (this.handling || this.closed !== undefined) return;
    while (this.inboxAt < this.inbox.length && this.messageHandlers.size > 0) {
      const payload = this.inbox[this.inboxAt++]!;
      let waits: Promise<void>[];
      // A handler may close the transport, subscribe or unsubscribe; none of that may start a second round in here.
      this.handling = true;
      try {
        waits = this.handle(this.decodePayload(payload));
      } catch (error) {
        this.finish(failed('A message could not be handled', error));
        return;
      } finally {
        this.handling = false;
      }
      if (this.closed !== undefined) return;
      if (waits.length > 0) {
        this.holdUntil(waits);
        return;
      }
    }
    if (this.inboxAt < this.inbox.length) {
      this.pause();
      return;
    }
    this.inbox = [];
    this.inboxAt = 0;
    if (this.ending !== undefined) this.finish(this.ending);
    else if (this.messageHandlers.size > 0) this.resume();
    else this.pause();
  }

  private handle(message: In): Promise<void>[] {
    const waits: Promise<void>[] = [];
    for (const handler of [...this.messageHandlers]) {
      const wait = handler(message);
      if (wait !== undefined) waits.push(wait);
    }
    return waits;
  }

  private holdUntil(waits: Promise<void>[]): void {
    this.handling = true;
    this.pause();
    Promise.all(waits).then(
      () => {
        this.handling = false;
        this.deliver();
      },
      (error: unknown) => this.finish(failed('A message could not be handled', error)),
    );
  }

  private pause(): void {
    if (!this.readable.isPaused()) this.readable.pause();
    // What does not arrive because nobody reads is not the fault of the peer.
    this.stopTimer();
  }

  private resume(): void {
    if (this.readable.isPaused()) this.readable.resume();
    this.watchFrame();
  }

  /** Starts the clock when a frame begins, and stops it when the frame is complete. */
  private watchFrame(): void {
    const watching = this.closed === undefined && this.decoder.pending && !this.readable.isPaused();
    if (watching && this.timer !== undefined && this.timedFrame === this.decoder.frames) return;
    this.stopTimer();
    if (!watching) return;
    this.timedFrame = this.decoder.frames;
    const limit = this.frameTimeoutMs;
    this.timer = this.clock.setTimeout(() => {
      const error = new SallyportError('WIRE_FRAME_TIMEOUT', `A frame did not arrive in full within ${limit} ms`, {
        limit,
      });
      this.finish(failed('A frame stopped half-way', error));
    }, limit);
  }

  private stopTimer(): void {
    if (this.timer !== undefined) this.clock.clearTimeout(this.timer);
    this.timer = undefined;
  }

  private inputEnded(): void {
    try {
      this.decoder.end();
      const { writeError } = this;
      this.endAfterInbox(
        writeError === undefined
          ? { kind: 'peer-closed', message: 'The peer closed the stream' }
          : failed('The output failed', writeError),
      );
    } catch (error) {
      this.endAfterInbox(failed('The stream ended early', error));
    }
  }

  private endAfterInbox(reason: CloseReason): void {
    this.ending ??= reason;
    this.stopTimer();
    // Messages that came before the end are handled before the end is told.
    this.deliver();
  }

  /** A peer that dies breaks the output first, while its last words are still on their way in: those are read to the end. */
  private outputFailed(error: Error): void {
    if (this.closed !== undefined || this.writeError !== undefined) return;
    this.writeError = error;
    this.dropOutbox();
    const timer = this.clock.setTimeout(() => this.finish(failed('The output failed', error)), this.frameTimeoutMs);
    this.onClose(() => this.clock.clearTimeout(timer));
  }

  /** Writes what was sent during this microtask: small frames as one buffer, in one system call if the stream can. */
  private flush(): void {
    const frames = this.outbox;
    if (frames.length === 0) return;
    this.outbox = [];
    this.outboxBytes = 0;
    let writable = true;
    if (frames.length === 1) {
      writable = this.writable.write(frames[0]!);
    } else {
      this.writable.cork();
      for (const buffer of gather(frames)) writable = this.writable.write(buffer);
      this.writable.uncork();
    }
    if (writable) this.makeRoom();
  }

  private roomPromise(): Promise<void> {
    if (this.room === undefined) {
      let resolve = (): void => {};
      let reject = (_error: Error): void => {};
      const promise = new Promise<void>((yes, no) => {
        resolve = yes;
        reject = no;
      });
      // A sender that does not wait must not bring the process down when the transport closes.
      promise.catch(() => {});
      this.room = { promise, resolve, reject };
    }
    return this.room.promise;
  }

  private makeRoom(): void {
    this.room?.resolve();
    this.room = undefined;
  }

  private dropOutbox(): void {
    this.outbox = [];
    this.outboxBytes = 0;
    this.room?.reject(this.closedError());
    this.room = undefined;
  }

  private finish(reason: CloseReason): void {
    if (this.closed !== undefined) return;
    if (reason.kind === 'peer-closed') this.flush();
    this.closed = reason;
    this.stopTimer();
    this.dropOutbox();
    this.inbox = [];
    if (reason.kind === 'closed' || reason.kind === 'peer-closed') {
      this.writable.end();
      this.readable.resume();
    } else {
      this.destroyStreams();
    }
    const handlers = [...this.closeHandlers];
    this.closeHandlers.clear();
    for (const handler of handlers) handler(reason);
  }

  private destroyStreams(): void {
    this.readable.destroy();
    this.writable.destroy();
  }

  private closedError(): SallyportError {
    const reason = this.closed?.message ?? `The output failed: ${this.writeError?.message}`;
    const cause = this.closed?.error ?? this.writeError;
    const options = cause === undefined ? {} : { cause };
    return new SallyportError('WIRE_CLOSED', `The transport is closed: ${reason}`, { reason }, options);
  }
}

/** Joins neighbours that are small; a large frame stays as it is. */
function gather(frames: readonly Uint8Array[]): Uint8Array[] {
  const buffers: Uint8Array[] = [];
  let small: Uint8Array[] = [];
  const join = (): void => {
    if (small.length > 0) buffers.push(small.length === 1 ? small[0]! : Buffer.concat(small));
    small = [];
  };
  for (const frame of frames) {
    if (frame.length <= GATHER_BYTES) {
      small.push(frame);
      continue;
    }
    join();
    buffers.push(frame);
  }
  join();
  return buffers;
}

function failed(what: string, cause: unknown): CloseReason {
  const error = cause instanceof Error ? cause : new Error(String(cause));
  return { kind: 'error', message: `${what}: ${error.message}`, error };
}

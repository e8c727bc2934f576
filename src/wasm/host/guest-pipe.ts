import { SallyportError } from '../../errors/index.js';
import type { InputStream, OutputStream } from '../../sandbox/index.js';
import {
  type CloseReason,
  encodeFrame,
  FRAME_HEADER_BYTES,
  FrameDecoder,
  Gate,
  Inbox,
  peerBacklog,
  SEND_HIGH_WATER_BYTES,
  type Transport,
  transportClosed,
  type Unsubscribe,
} from '../../wire/index.js';
import { decodeMessage } from '../decode-message.js';
import type { WasmLimits } from '../limits.js';
import type { Message, OutgoingMessage } from '../messages.js';

/** A message and its size on the wire. */
export interface Received {
  readonly message: Message;
  readonly bytes: number;
}

/**
 * Frames over the standard input and output of a guest process. It reads from the child without a stream in between, and
 * has one write under way at a time: what is sent meanwhile leaves in the next.
 *
 *     open ──close()──────────▶ closed: what was sent is written, then the input ends
 *      ├────output ends───────▶ closed (peer-closed), after every message before it
 *      ├────violation─────────▶ closed (error), after every message before it
 *      └────terminate()───────▶ closed (terminated)
 */
export class GuestPipe implements Transport<Received, OutgoingMessage> {
  readonly #input: InputStream;
  readonly #limits: WasmLimits;
  readonly #budget: { readonly bytes: number; readonly depth: number; readonly values: number };
  readonly #decoder: FrameDecoder;
  readonly #inbox: Inbox<Received>;
  #outgoing: Uint8Array[] = [];
  /** Bytes that wait here or in the write that is under way. */
  #waiting = 0;
  #writing = false;
  readonly #space = new Gate();
  #timer: NodeJS.Timeout | undefined;
  #reading = false;
  /** What is sent while a chunk is taken in leaves together when all of it is: answers that come at once need no turn. */
  #receiving = false;
  #broken = false;
  #transferred = 0;
  /** Resolves with the first frame: until then nothing says that the guest works at all. */
  readonly spoken: Promise<void>;
  #onFirstFrame: (() => void) | undefined;

  constructor(input: InputStream, output: OutputStream, limits: WasmLimits) {
    this.#input = input;
    this.#limits = limits;
    this.#budget = { bytes: limits.frameBytes, depth: limits.depth, values: limits.values };
    this.#decoder = new FrameDecoder({ maxFrameBytes: limits.frameBytes });
    this.#inbox = new Inbox<Received>({
      pause: () => {
        this.#reading = false;
        output.pause();
      },
      resume: () => {
        this.#reading = true;
        output.resume();
      },
      fail: (error) => this.#finish({ kind: 'error', message: error.message, error }),
    });
    this.spoken = new Promise((resolve) => {
      this.#onFirstFrame = resolve;
    });
    output.onData((chunk) => this.#receive(chunk));
    output.pause();
    void output.ended.then(() => this.#ended());
  }

  /** Frames received so far. */
  get frames(): number {
    return this.#decoder.completed;
  }

  /** Bytes in both directions. */
  get transferred(): number {
    return this.#transferred;
  }

  send(message: OutgoingMessage): void | Promise<void> {
    const closed = this.#inbox.closeReason;
    if (closed !== undefined) throw transportClosed(closed.message);
    const frame = encodeFrame(message, this.#budget);
    const size = frame.length;
    const waiting = this.#waiting;
    if (waiting > 0 && waiting + size > this.#limits.backlogBytes)
      throw peerBacklog(waiting, this.#limits.backlogBytes);
    if (this.#outgoing.length === 0 && !this.#writing && !this.#receiving) queueMicrotask(this.#flush);
    this.#outgoing.push(frame);
    this.#waiting = waiting + size;
    if (this.#waiting < SEND_HIGH_WATER_BYTES) return;
    return this.#space.wait();
  }

  onMessage(handler: (received: Received) => void | Promise<void>): Unsubscribe {
    return this.#inbox.onMessage(handler);
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    return this.#inbox.onClose(handler);
  }

  close(reason = 'closed by this side'): void {
    if (this.#inbox.closeReason !== undefined) return;
    this.#finish({ kind: 'closed', message: reason });
    this.#flush();
  }

  terminate(): void {
    clearTimeout(this.#timer);
    this.#outgoing = [];
    this.#inbox.abort({ kind: 'terminated', message: 'terminated by this side' });
    this.#space.open();
  }

  readonly #flush = (): void => {
    if (this.#writing || this.#broken) return;
    const batch = this.#outgoing;
    const [first] = batch;
    if (first === undefined) {
      if (this.#inbox.closeReason !== undefined) void this.#input.end();
      return;
    }
    this.#outgoing = [];
    const bytes = batch.length === 1 ? first : Buffer.concat(batch);
    this.#transferred += bytes.length;
    const taken = this.#input.writeNow(bytes);
    if (taken === undefined) {
      this.#taken(bytes.length);
      if (this.#inbox.closeReason !== undefined) this.#flush();
      return;
    }
    this.#writing = true;
    taken.then(
      () => {
        this.#writing = false;
        this.#taken(bytes.length);
        this.#flush();
      },
      () => {
        // The guest reads no more. Its exit, which follows, says why; what it said before is still read.
        this.#broken = true;
        this.#space.open();
      },
    );
  };

  #taken(size: number): void {
    this.#waiting -= size;
    if (this.#waiting < SEND_HIGH_WATER_BYTES) this.#space.open();
  }

  #receive(chunk: Buffer): void {
    if (this.#inbox.closeReason !== undefined) return;
    this.#receiving = true;
    try {
      this.#decoder.push(chunk, this.#decode);
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      this.#finish({ kind: 'error', message: reason.message, error: reason });
      return;
    } finally {
      this.#receiving = false;
      if (this.#outgoing.length > 0) this.#flush();
    }
    if (this.#timer === undefined && this.#decoder.pending) this.#watch();
  }

  readonly #decode = (payload: Uint8Array): void => {
    const bytes = payload.length;
    if (this.#onFirstFrame !== undefined) {
      this.#onFirstFrame();
      this.#onFirstFrame = undefined;
    }
    this.#transferred += bytes + FRAME_HEADER_BYTES;
    this.#inbox.push({ message: decodeMessage(payload, this.#budget), bytes });
  };

  /**
   * Times the frame that is under way. One timer serves many frames: it only strikes when it finds the same frame again,
   * so that a frame may take up to twice the limit, and a busy pipe costs no timers.
   */
  #watch(): void {
    const frame = this.#decoder.completed;
    const { frameTimeoutMs } = this.#limits;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#inbox.closeReason !== undefined || !this.#decoder.pending) return;
      // While nobody reads, the rest of the frame cannot arrive.
      if (this.#decoder.completed !== frame || !this.#reading) {
        this.#watch();
        return;
      }
      const message = `a frame stayed incomplete for ${frameTimeoutMs} ms`;
      const error = new SallyportError('WIRE_FRAME_TIMEOUT', message, { limitMs: frameTimeoutMs });
      this.#finish({ kind: 'error', message, error });
    }, frameTimeoutMs).unref();
  }

  #ended(): void {
    if (this.#inbox.closeReason !== undefined) return;
    try {
      this.#decoder.end();
      this.#finish({ kind: 'peer-closed', message: 'the guest closed its output' });
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      this.#finish({ kind: 'error', message: reason.message, error: reason });
    }
  }

  #finish(reason: CloseReason): void {
    clearTimeout(this.#timer);
    this.#space.open();
    this.#inbox.finish(reason);
  }
}

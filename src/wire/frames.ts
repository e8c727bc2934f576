import { SallyportError } from '../errors/index.js';
import { MAX_FRAME_BYTES } from './limits.js';
import type { MessageDecoder } from './message-decoder.js';

/** The first byte of every frame. */
export const FRAME_VERSION = 1;
/** The version byte, then the length of the payload as a big-endian integer of 32 bits. */
export const FRAME_HEADER_BYTES = 5;

/** A body gets this much at first; the rest as it arrives, so that a header alone makes nobody allocate what it announces. */
const FIRST_BODY_BYTES = 64 * 1024;

/**
 * Cuts a byte stream into the payloads of its frames, however it was split on the way.
 *
 *     header ──5 bytes, version and length checked──▶ body ──length bytes──▶ payload ──▶ header
 *        └────────────────────┴── anything wrong ──▶ failed (every later call throws the same error)
 *
 * It knows no clock: `pending` tells the owner of a timer that a frame has begun and is not complete.
 *
 * A payload that lies within one chunk is a view into that chunk, which therefore must not be written to afterwards (Node
 * streams never do). A payload that came in several chunks has memory of its own. Neither is touched again.
 */
export class FrameDecoder implements MessageDecoder<Uint8Array> {
  private readonly limit: number;
  private readonly header = new Uint8Array(FRAME_HEADER_BYTES);
  private headerFilled = 0;
  private body: Uint8Array | undefined;
  private bodyFilled = 0;
  private bodyLength = 0;
  private failure: SallyportError | undefined;
  private frames = 0;

  constructor(options: { readonly maxFrameBytes?: number } = {}) {
    this.limit = options.maxFrameBytes ?? MAX_FRAME_BYTES;
  }

  /** Tells whether a frame has begun but is not complete. */
  get pending(): boolean {
    return this.headerFilled > 0;
  }

  /** How many frames have been complete so far: tells one pending frame from the next. */
  get completed(): number {
    return this.frames;
  }

  /** Takes the next bytes and hands out every payload that they complete, in order; those before a bad frame, too. */
  push(chunk: Uint8Array, onPayload: (payload: Uint8Array) => void): void {
    if (this.failure !== undefined) throw this.failure;
    let at = 0;
    while (at < chunk.length) {
      at = this.headerFilled < FRAME_HEADER_BYTES ? this.readHeader(chunk, at) : at;
      if (this.headerFilled < FRAME_HEADER_BYTES) return;
      if (this.body === undefined && chunk.length - at >= this.bodyLength) {
        const payload = chunk.subarray(at, at + this.bodyLength);
        at += this.bodyLength;
        this.complete(payload, onPayload);
      } else {
        at = this.readBody(chunk, at, onPayload);
      }
    }
  }

  /** Says that no more bytes come. Throws when they stop in the middle of a frame. */
  end(): void {
    if (this.failure !== undefined) throw this.failure;
    if (!this.pending) return;
    const received = this.headerFilled + this.bodyFilled;
    throw this.fail('WIRE_FRAME_TRUNCATED', `The stream ended ${received} bytes into a frame`, { received });
  }

  private readHeader(chunk: Uint8Array, from: number): number {
    let at = from;
    if (this.headerFilled === 0 && chunk[at] !== FRAME_VERSION) {
      const version = chunk[at]!;
      throw this.fail('WIRE_FRAME_VERSION', `A frame starts with byte ${version} instead of ${FRAME_VERSION}`, {
        version,
        frame: this.frames,
      });
    }
    while (this.headerFilled < FRAME_HEADER_BYTES && at < chunk.length) this.header[this.headerFilled++] = chunk[at++]!;
    if (this.headerFilled === FRAME_HEADER_BYTES) this.checkLength();
    return at;
  }

  private checkLength(): void {
    const { header } = this;
    const length = ((header[1]! << 24) | (header[2]! << 16) | (header[3]! << 8) | header[4]!) >>> 0;
    if (length === 0) {
      throw this.fail('WIRE_FRAME_EMPTY', 'A frame announces a payload of zero bytes', { frame: this.frames });
    }
    if (length > this.limit) {
      throw this.fail('WIRE_FRAME_TOO_LARGE', `A frame announces ${length} bytes, over the limit of ${this.limit}`, {
        size: length,
        limit: this.limit,
      });
    }
    this.bodyLength = length;
  }

  private readBody(chunk: Uint8Array, at: number, onPayload: (payload: Uint8Array) => void): number {
    const taken = Math.min(chunk.length - at, this.bodyLength - this.bodyFilled);
    const body = this.roomFor(this.bodyFilled + taken);
    body.set(chunk.subarray(at, at + taken), this.bodyFilled);
    this.bodyFilled += taken;
    if (this.bodyFilled === this.bodyLength) {
      this.complete(body, onPayload);
    }
    return at + taken;
  }

  /** Doubles the body as it fills, so that growing copies fewer bytes than arrive, and never beyond what was announced. */
  private roomFor(needed: number): Uint8Array {
    const { body } = this;
    if (body !== undefined && needed <= body.length) return body;
    const wanted = Math.max(needed, FIRST_BODY_BYTES, (body?.length ?? 0) * 2);
    const larger = new Uint8Array(Math.min(wanted, this.bodyLength));
    if (body !== undefined) larger.set(body.subarray(0, this.bodyFilled));
    this.body = larger;
    return larger;
  }

  private complete(payload: Uint8Array, onPayload: (payload: Uint8Array) => void): void {
    this.headerFilled = 0;
    this.body = undefined;
    this.bodyFilled = 0;
    this.frames += 1;
    onPayload(payload);
  }

  private fail(...[code, message, facts]: ConstructorParameters<typeof SallyportError>): SallyportError {
    this.failure = new SallyportError(code, message, facts);
    this.body = undefined;
    return this.failure;
  }
}

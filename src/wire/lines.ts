import { SallyportError } from '../errors/index.js';
import { MAX_MESSAGE_BYTES } from './limits.js';
import type { MessageDecoder } from './message-decoder.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const EMPTY = Buffer.alloc(0);

/**
 * Splits a byte stream into lines. Lines end with LF or CRLF, the last one may have no end, blank ones are skipped. The
 * limit holds while a line arrives, so a line without an end costs at most twice the limit, in however small pieces it comes.
 *
 * A line that lies within one chunk is a view into that chunk; one that came in several has memory of its own.
 */
export class LineDecoder implements MessageDecoder<Uint8Array> {
  readonly #maxLineBytes: number;
  /** What has arrived of a line: `#size` bytes, and room for more. */
  #partial = EMPTY;
  #size = 0;
  #completed = 0;

  constructor(maxLineBytes: number = MAX_MESSAGE_BYTES) {
    this.#maxLineBytes = maxLineBytes;
  }

  /** True while part of a line has arrived and its end has not. */
  get pending(): boolean {
    return this.#size > 0;
  }

  get completed(): number {
    return this.#completed;
  }

  push(chunk: Uint8Array, emit: (line: Uint8Array) => void): void {
    let start = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start);
      if (end === -1) break;
      this.#charge(end - start);
      const tail = chunk.subarray(start, end);
      start = end + 1;
      this.#emit(tail, emit);
    }
    if (start < chunk.byteLength) {
      this.#charge(chunk.byteLength - start);
      this.#keep(start === 0 ? chunk : chunk.subarray(start));
    }
  }

  end(emit: (line: Uint8Array) => void): void {
    if (this.#size > 0) this.#emit(EMPTY, emit);
  }

  #charge(more: number): void {
    if (this.#size + more > this.#maxLineBytes) {
      throw new SallyportError('WIRE_FRAME_TOO_LARGE', `a line is longer than ${this.#maxLineBytes} bytes`, {
        limit: this.#maxLineBytes,
      });
    }
  }

  /** Doubles the room as it fills: a line in many small pieces costs no more than its bytes, each copied a few times at most. */
  #keep(part: Uint8Array): void {
    const needed = this.#size + part.byteLength;
    if (needed > this.#partial.byteLength) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#partial.byteLength));
      larger.set(this.#partial.subarray(0, this.#size));
      this.#partial = larger;
    }
    this.#partial.set(part, this.#size);
    this.#size = needed;
  }

  #emit(tail: Uint8Array, emit: (line: Uint8Array) => void): void {
    let line = tail;
    this.#completed += 1;
    if (this.#size > 0) {
      this.#keep(tail);
      line = this.#partial.subarray(0, this.#size);
      this.#partial = EMPTY;
      this.#size = 0;
    }
    if (line.at(-1) === RETURN) line = line.subarray(0, -1);
    if (!isBlank(line)) emit(line);
  }
}

function isBlank(line: Uint8Array): boolean {
  // Most lines start with a brace, so this ends at the first byte.
  return line.every((byte) => byte === 0x20 || byte === 0x09 || byte === RETURN);
}

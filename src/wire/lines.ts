import { SallyportError } from '../errors/index.js';
import { MAX_MESSAGE_BYTES } from './limits.js';
import type { MessageDecoder } from './message-decoder.js';

const NEWLINE = 0x0a;
const RETURN = 0x0d;

/**
 * Splits a byte stream into lines. Lines end with LF or CRLF, the last one may have no end, blank ones are skipped. The
 * limit holds while a line arrives, so a line without an end costs at most the limit.
 */
export class LineDecoder implements MessageDecoder<Uint8Array> {
  readonly #maxLineBytes: number;
  #parts: Uint8Array[] = [];
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
      this.#parts.push(start === 0 ? chunk : chunk.subarray(start));
      this.#size += chunk.byteLength - start;
    }
  }

  end(emit: (line: Uint8Array) => void): void {
    if (this.#size > 0) this.#emit(new Uint8Array(0), emit);
  }

  #charge(more: number): void {
    if (this.#size + more > this.#maxLineBytes) {
      throw new SallyportError('WIRE_FRAME_TOO_LARGE', `a line is longer than ${this.#maxLineBytes} bytes`, {
        limit: this.#maxLineBytes,
      });
    }
  }

  #emit(tail: Uint8Array, emit: (line: Uint8Array) => void): void {
    let line = tail;
    this.#completed += 1;
    if (this.#size > 0) {
      line = Buffer.concat([...this.#parts, tail]);
      this.#parts = [];
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

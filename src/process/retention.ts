import { ByteRing } from './byte-ring.js';
import type { StreamName } from './messages.js';

/** A piece of output with its place in the order. */
export interface RetainedChunk {
  readonly seq: number;
  readonly stream: StreamName;
  readonly bytes: Buffer;
}

export interface RetainedSlice {
  readonly chunks: readonly RetainedChunk[];
  /** Whether `maxBytes` cut it short. */
  readonly partial: boolean;
  /** The oldest chunk that is kept, when chunks that were asked for are gone. */
  readonly firstSeq: number | undefined;
}

interface Kept {
  readonly seq: number;
  readonly stream: StreamName;
  readonly length: number;
  /** Where it ends, counted from the first byte that was ever kept. */
  readonly end: number;
}

/**
 * The newest output of a process, up to a number of bytes. Whole chunks are dropped, oldest first.
 *
 * The bytes are copied. A buffer that is read into lives for a moment otherwise, and is freed at the next quick
 * collection; kept for long enough, it would only be freed by a thorough one, and those are rare: a flood of output would
 * pile up tens of megabytes in between.
 */
export class Retention {
  readonly #maxBytes: number;
  readonly #maxChunks: number;
  readonly #ring: ByteRing;
  #kept: Kept[] = [];
  #head = 0;
  /** How many bytes were ever kept. */
  #total = 0;
  #lastDropped = 0;

  constructor(limits: { readonly maxBytes: number; readonly maxChunks: number }) {
    this.#maxBytes = limits.maxBytes;
    this.#maxChunks = limits.maxChunks;
    this.#ring = new ByteRing(limits.maxBytes);
  }

  get bytes(): number {
    return this.#ring.length;
  }

  push(chunk: RetainedChunk): void {
    const { seq, stream, bytes } = chunk;
    const { length } = bytes;
    while (this.#head < this.#kept.length && (this.bytes + length > this.#maxBytes || this.#count >= this.#maxChunks)) {
      const oldest = this.#kept[this.#head]!;
      this.#ring.drop(oldest.length);
      this.#lastDropped = oldest.seq;
      this.#head += 1;
    }
    if (length > this.#maxBytes) this.#lastDropped = seq;
    else {
      this.#ring.push(bytes);
      this.#total += length;
      this.#kept.push({ seq, stream, length, end: this.#total });
    }
    // Taking from the front of an array moves all of it, so that is done once in a while.
    if (this.#head > 64 && this.#head * 2 > this.#kept.length) {
      this.#kept = this.#kept.slice(this.#head);
      this.#head = 0;
    }
  }

  /** Whether there are chunks after a number. */
  hasAfter(seq: number): boolean {
    return (this.#kept.at(-1)?.seq ?? 0) > seq && this.#count > 0;
  }

  /** The chunks after a number: at least one, and no more bytes than asked for beyond that. */
  after(seq: number, maxBytes: number): RetainedSlice {
    const chunks: RetainedChunk[] = [];
    let bytes = 0;
    let partial = false;
    const dropped = this.#total - this.bytes;
    for (let index = this.#firstAfter(seq); index < this.#kept.length; index += 1) {
      const chunk = this.#kept[index]!;
      if (chunks.length > 0 && bytes + chunk.length > maxBytes) {
        partial = true;
        break;
      }
      const copied = this.#ring.copy(chunk.end - chunk.length - dropped, chunk.length);
      chunks.push({ seq: chunk.seq, stream: chunk.stream, bytes: copied });
      bytes += chunk.length;
    }
    const missed = this.#lastDropped > seq;
    return { chunks, partial, firstSeq: missed ? (this.#kept[this.#head]?.seq ?? this.#lastDropped + 1) : undefined };
  }

  /** Gives up everything. */
  clear(): void {
    this.#lastDropped = this.#kept.at(-1)?.seq ?? this.#lastDropped;
    this.#kept = [];
    this.#head = 0;
    this.#ring.clear();
  }

  get #count(): number {
    return this.#kept.length - this.#head;
  }

  #firstAfter(seq: number): number {
    let low = this.#head;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#kept[middle]!.seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

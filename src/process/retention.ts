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

const NOTHING = Buffer.alloc(0);

/** The newest output of a process, up to a number of bytes. Whole chunks are dropped, oldest first. */
export class Retention {
  readonly #maxBytes: number;
  #chunks: RetainedChunk[] = [];
  #head = 0;
  #bytes = 0;
  #lastDropped = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get bytes(): number {
    return this.#bytes;
  }

  push(chunk: RetainedChunk): void {
    this.#chunks.push(chunk);
    this.#bytes += chunk.bytes.length;
    while (this.#bytes > this.#maxBytes) {
      const oldest = this.#chunks[this.#head];
      if (oldest === undefined) break;
      this.#bytes -= oldest.bytes.length;
      this.#lastDropped = oldest.seq;
      // Not even a dropped chunk that waits to be swept out may keep its bytes.
      this.#chunks[this.#head] = { seq: oldest.seq, stream: oldest.stream, bytes: NOTHING };
      this.#head += 1;
    }
    // Taking from the front of an array moves all of it, so that is done once in a while.
    if (this.#head > 64 && this.#head * 2 > this.#chunks.length) {
      this.#chunks = this.#chunks.slice(this.#head);
      this.#head = 0;
    }
  }

  /** The chunks after a number: at least one, and no more bytes than asked for beyond that. */
  after(seq: number, maxBytes: number): RetainedSlice {
    const chunks: RetainedChunk[] = [];
    let bytes = 0;
    let partial = false;
    for (let index = this.#firstAfter(seq); index < this.#chunks.length; index += 1) {
      const chunk = this.#chunks[index]!;
      if (chunks.length > 0 && bytes + chunk.bytes.length > maxBytes) {
        partial = true;
        break;
      }
      chunks.push(chunk);
      bytes += chunk.bytes.length;
    }
    const missed = this.#lastDropped > seq;
    return { chunks, partial, firstSeq: missed ? (this.#chunks[this.#head]?.seq ?? this.#lastDropped + 1) : undefined };
  }

  /** Gives up everything. */
  clear(): void {
    this.#lastDropped = this.#chunks.at(-1)?.seq ?? this.#lastDropped;
    this.#chunks = [];
    this.#head = 0;
    this.#bytes = 0;
  }

  #firstAfter(seq: number): number {
    let low = this.#head;
    let high = this.#chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#chunks[middle]!.seq > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

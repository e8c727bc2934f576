/** How much is allocated at first, in bytes: most commands write less. */
const FIRST_CAPACITY = 4 * 1024;

/** The newest bytes of a stream, in one buffer that grows up to a limit and is used again and again from then on. */
export class ByteRing {
  readonly #maxBytes: number;
  #buffer = Buffer.alloc(0);
  #start = 0;
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Adds bytes at the end. They must fit: make room first. */
  push(bytes: Uint8Array): void {
    this.#reserve(this.#length + bytes.length);
    const at = (this.#start + this.#length) % this.#buffer.length;
    const first = Math.min(bytes.length, this.#buffer.length - at);
    this.#buffer.set(bytes.subarray(0, first), at);
    this.#buffer.set(bytes.subarray(first), 0);
    this.#length += bytes.length;
  }

  /** Forgets the oldest bytes. */
  drop(bytes: number): void {
    this.#length -= bytes;
    this.#start = this.#length === 0 ? 0 : (this.#start + bytes) % this.#buffer.length;
  }

  /** Copies bytes out, counted from the oldest one. */
  copy(from: number, length: number): Buffer {
    const copied = Buffer.allocUnsafe(length);
    if (length === 0) return copied;
    const at = (this.#start + from) % this.#buffer.length;
    const first = Math.min(length, this.#buffer.length - at);
    this.#buffer.copy(copied, 0, at, at + first);
    this.#buffer.copy(copied, first, 0, length - first);
    return copied;
  }

  /** Gives up everything, the space too. */
  clear(): void {
    this.#buffer = Buffer.alloc(0);
    this.#start = 0;
    this.#length = 0;
  }

  #reserve(needed: number): void {
    if (needed <= this.#buffer.length) return;
    const doubled = Math.max(needed, this.#buffer.length * 2, FIRST_CAPACITY);
    // A buffer of its own: one from the shared pool would keep the pool.
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, Math.min(doubled, this.#maxBytes)));
    this.copy(0, this.#length).copy(grown);
    this.#buffer = grown;
    this.#start = 0;
  }
}

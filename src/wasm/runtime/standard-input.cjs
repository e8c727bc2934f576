'use strict';
// Standard input for a guest that blocks its thread. Two ways to read:
//
//   direct ──listen()──▶ listening
//
// Direct is a plain blocking read: fastest, but it can wait for nothing else. A guest that polls input and a clock at once,
// or reads without blocking, gets a second thread that fills a ring in shared memory; waiting is then a wait on the ring.
const fs = require('node:fs');

const BUFFER_BYTES = 64 * 1024;
const RING_BYTES = 256 * 1024;
/** Indices into the shared header: bytes written and bytes read so far (both wrap), whether the input has ended, and a count
 * of changes to wait on: the end changes no other number. */
const WRITTEN = 0;
const READ = 1;
const ENDED = 2;
const CHANGES = 3;
const HEADER_BYTES = 16;

class StandardInput {
  constructor() {
    this.buffer = Buffer.allocUnsafeSlow(BUFFER_BYTES);
    this.start = 0;
    this.end = 0;
    this.ended = false;
    this.ring = undefined;
    this.header = undefined;
  }

  /** How many bytes can be read without waiting. */
  buffered() {
    const own = this.end - this.start;
    if (own > 0 || this.ring === undefined) return own;
    return (Atomics.load(this.header, WRITTEN) - Atomics.load(this.header, READ)) | 0;
  }

  /** Whether a read would return at once, also with the end of the input. */
  ready() {
    if (this.ended || this.buffered() > 0) return true;
    // In this order: what was written before the end must be seen before the end is.
    return this.ring !== undefined && Atomics.load(this.header, ENDED) === 1;
  }

  /** Puts up to `length` bytes into a target, after waiting for at least one byte or the end. */
  read(target, start, length) {
    if (this.ring === undefined && this.start === this.end && !this.ended && length >= BUFFER_BYTES) {
      return this.readInto(target, start, length);
    }
    if (this.buffered() === 0) this.wait(Number.POSITIVE_INFINITY);
    if (this.start === this.end) this.take();
    const count = Math.min(length, this.end - this.start);
    this.buffer.copy(target, start, this.start, this.start + count);
    this.start += count;
    return count;
  }

  /** Waits for input or its end, at most this many milliseconds. May return early. */
  wait(milliseconds) {
    if (this.ready()) return;
    if (this.ring === undefined && milliseconds === Number.POSITIVE_INFINITY) {
      this.fill();
      return;
    }
    this.listen();
    const seen = Atomics.load(this.header, CHANGES);
    if (!this.ready()) Atomics.wait(this.header, CHANGES, seen, milliseconds);
  }

  /** Starts the second thread, unless it runs. */
  listen() {
    if (this.ring !== undefined) return;
    const { Worker } = require('node:worker_threads');
    const shared = new SharedArrayBuffer(HEADER_BYTES + RING_BYTES);
    this.header = new Int32Array(shared, 0, HEADER_BYTES / 4);
    this.ring = new Uint8Array(shared, HEADER_BYTES);
    if (this.ended) Atomics.store(this.header, ENDED, 1);
    else new Worker(require.resolve('./input-thread.cjs'), { workerData: shared, stdin: false }).unref();
  }

  fill() {
    this.start = 0;
    this.end = this.readInto(this.buffer, 0, BUFFER_BYTES);
  }

  /** One blocking read. A large one goes straight to where the guest wants it. */
  readInto(target, start, length) {
    try {
      const count = fs.readSync(0, target, start, length, null);
      this.ended = count === 0;
      return count;
    } catch (error) {
      if (error.code !== 'EOF' && error.code !== 'ECONNRESET') throw error;
      this.ended = true;
      return 0;
    }
  }

  /** Moves bytes from the ring to the buffer. */
  take() {
    while (this.ring !== undefined && this.start === this.end) {
      const read = Atomics.load(this.header, READ);
      const count = Math.min((Atomics.load(this.header, WRITTEN) - read) | 0, BUFFER_BYTES);
      if (count > 0) {
        const at = (read >>> 0) % RING_BYTES;
        const first = Math.min(count, RING_BYTES - at);
        this.buffer.set(this.ring.subarray(at, at + first), 0);
        this.buffer.set(this.ring.subarray(0, count - first), first);
        this.start = 0;
        this.end = count;
        Atomics.store(this.header, READ, (read + count) | 0);
        Atomics.notify(this.header, READ);
      } else if (Atomics.load(this.header, ENDED) === 1) {
        this.ended = this.buffered() === 0;
        if (this.ended) return;
      } else this.wait(Number.POSITIVE_INFINITY);
    }
  }
}

module.exports = { StandardInput, RING_BYTES, HEADER_BYTES, WRITTEN, READ, ENDED, CHANGES };

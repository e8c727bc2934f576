import { Readable, Writable } from 'node:stream';
import type { InputStream, OutputStream } from '../../sandbox/index.js';

/** The output of a child as a Node stream: read only as far as its consumer asks. */
export function readableFrom(output: OutputStream): Readable {
  let started = false;
  const readable = new Readable({
    read() {
      if (started) {
        output.resume();
        return;
      }
      started = true;
      output.onData((chunk) => {
        if (!readable.push(chunk)) output.pause();
      });
      void output.ended.then(() => readable.push(null));
    },
    destroy(error, done) {
      // Whoever still writes must not wait for a reader that is gone; the process is ended next.
      output.discard();
      done(error);
    },
  });
  return readable;
}

/** The input of a child as a Node stream: a write is done when the kernel has taken it. */
export function writableTo(input: InputStream, highWaterMark: number): Writable {
  return new Writable({
    highWaterMark,
    write(chunk: Uint8Array, _encoding, done) {
      input.write(chunk).then(() => done(), done);
    },
    final(done) {
      input.end().then(() => done(), done);
    },
  });
}

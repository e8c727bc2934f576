import { LENGTH_BYTES, SECRET_BYTES } from '../child/protocol.js';

/** Takes the frames of a child apart. A frame without the secret was not written by the runner. */
export class FrameReader {
  readonly #secret: Buffer;
  readonly #maxBytes: number;
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(secret: Buffer, maxBytes: number) {
    this.#secret = secret;
    this.#maxBytes = maxBytes;
  }

  /** Returns the bodies that are complete now, or `forged` when somebody else wrote to the pipe. */
  push(chunk: Buffer): readonly Buffer[] | 'forged' {
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    const head = SECRET_BYTES + LENGTH_BYTES;
    const bodies: Buffer[] = [];
    while (this.#bytes >= head) {
      const first = this.#chunks[0];
      if (first === undefined) break;
      // The head may be split over chunks; the body is joined once, when all of it is there.
      const start = first.length >= head ? first : this.#join();
      if (!start.subarray(0, SECRET_BYTES).equals(this.#secret)) return 'forged';
      const length = start.readUInt32BE(SECRET_BYTES);
      if (length > this.#maxBytes) return 'forged';
      if (this.#bytes < head + length) break;
      const all = this.#join();
      bodies.push(all.subarray(head, head + length));
      const rest = all.subarray(head + length);
      this.#chunks = rest.length === 0 ? [] : [rest];
      this.#bytes = rest.length;
    }
    return bodies;
  }

  #join(): Buffer {
    const all =
      this.#chunks.length === 1 && this.#chunks[0] !== undefined ? this.#chunks[0] : Buffer.concat(this.#chunks);
    this.#chunks = [all];
    return all;
  }
}

/** Puts a message to a child into a frame. */
export function frameTo(message: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(LENGTH_BYTES);
  head.writeUInt32BE(body.length);
  return Buffer.concat([head, body]);
}

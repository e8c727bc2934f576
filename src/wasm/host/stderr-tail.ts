import type { OutputStream } from '../../sandbox/index.js';
import { printable } from '../../wire/index.js';

/** Reads standard error to its end and keeps the last of it, so that a guest never waits and a flood costs nothing. */
export class StderrTail {
  readonly #limit: number;
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(output: OutputStream | undefined, limit: number) {
    this.#limit = limit;
    output?.onData((chunk) => {
      if (limit > 0) this.#add(chunk);
    });
  }

  /** The last lines, each safe to show. */
  get text(): string {
    const bytes = Buffer.concat(this.#chunks);
    const text = bytes.subarray(Math.max(0, bytes.length - this.#limit)).toString('utf8');
    return text
      .split('\n')
      .map((line) => printable(line, this.#limit))
      .join('\n')
      .trim();
  }

  #add(chunk: Buffer): void {
    // A copy: a slice would keep the whole read buffer alive.
    const kept = Buffer.from(chunk.subarray(Math.max(0, chunk.length - this.#limit)));
    this.#chunks.push(kept);
    this.#size += kept.length;
    if (this.#size <= 4 * this.#limit) return;
    const all = Buffer.concat(this.#chunks);
    this.#chunks = [Buffer.from(all.subarray(all.length - this.#limit))];
    this.#size = this.#limit;
  }
}

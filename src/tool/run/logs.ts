import { StringDecoder } from 'node:string_decoder';
import type { OutputStream } from '../../sandbox/index.js';
import type { LogLine } from '../messages.js';

/** Collects what a tool prints, up to a limit per stream. The rest is read and forgotten, so that the tool never blocks. */
export class Logs {
  readonly #lines: LogLine[] = [];
  readonly #maxBytes: number;
  readonly #onLine: (line: LogLine) => void;
  #seq = 0;
  #truncated = false;

  constructor(maxBytes: number, onLine: (line: LogLine) => void) {
    this.#maxBytes = maxBytes;
    this.#onLine = onLine;
  }

  get lines(): readonly LogLine[] {
    return this.#lines;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  /** Follows one of the two streams. */
  follow(output: OutputStream): void {
    const stream = output.name === 'stderr' ? 'stderr' : 'stdout';
    const decoder = new StringDecoder('utf8');
    let left = this.#maxBytes;
    output.onData((chunk) => {
      if (left <= 0) {
        this.#truncated = true;
        return;
      }
      const kept = chunk.subarray(0, left);
      if (kept.length < chunk.length) this.#truncated = true;
      left -= kept.length;
      const text = decoder.write(kept);
      if (text === '') return;
      const line = { stream, text, seq: this.#seq } as const;
      this.#seq += 1;
      const last = this.#lines.at(-1);
      // Many small writes of one stream make one piece in the answer; a stream's reader still gets each as it comes.
      if (last?.stream === stream) this.#lines[this.#lines.length - 1] = { ...last, text: last.text + text };
      else this.#lines.push(line);
      this.#onLine(line);
    });
  }
}

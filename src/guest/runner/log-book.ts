/** How much is kept of the logs of a run. */
export interface LogLimits {
  readonly maxLogLines: number;
  readonly maxLogChars: number;
}

/**
 * Collects log lines within limits while they come, so that a flood costs no memory: the earliest lines are kept, then the
 * characters are counted over all of them, and the line in which they run out is clipped.
 */
export class LogBook {
  readonly lines: string[] = [];
  readonly #maxLines: number;
  #charsLeft: number;

  constructor({ maxLogLines, maxLogChars }: LogLimits) {
    this.#maxLines = maxLogLines;
    this.#charsLeft = maxLogChars;
  }

  /** How many characters the next line may have; 0 when nothing more is kept. */
  get room(): number {
    return this.lines.length < this.#maxLines ? this.#charsLeft : 0;
  }

  /** Keeps what fits of a line. Returns what was kept, or undefined when the book is full. */
  add(line: string): string | undefined {
    if (this.lines.length >= this.#maxLines || this.#charsLeft <= 0) return undefined;
    const kept = line.length <= this.#charsLeft ? line : clip(line, this.#charsLeft);
    // The character that did not fit must not be followed by one that would.
    this.#charsLeft = line.length <= this.#charsLeft ? this.#charsLeft - line.length : 0;
    this.lines.push(kept);
    return kept;
  }
}

/** Cuts text to a number of UTF-16 units without splitting a surrogate pair. */
function clip(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const splits = last >= 0xd800 && last <= 0xdbff;
  return text.slice(0, splits ? length - 1 : length);
}

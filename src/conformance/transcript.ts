import { printable } from '../wire/index.js';
import { MAX_SHOWN_CHARS, MAX_TRANSCRIPT_ENTRIES } from './limits.js';

export type TranscriptSource = 'suite' | 'target' | 'note';

export interface TranscriptEntry {
  /** Milliseconds since the check began. */
  readonly atMs: number;
  /** Who said it; a note is about what happened: a start, an end, a line on standard error. */
  readonly from: TranscriptSource;
  readonly text: string;
}

const ARROWS: Readonly<Record<TranscriptSource, string>> = { suite: '→', target: '←', note: '·' };

/** Everything that one check sent and received, in order and bounded. Channels write it, checks do not. */
export class Transcript {
  readonly #entries: TranscriptEntry[] = [];
  readonly #began = performance.now();
  readonly #last = new Map<TranscriptSource, string>();

  get entries(): readonly TranscriptEntry[] {
    return this.#entries;
  }

  add(from: TranscriptSource, text: string): void {
    const shown = printable(text, MAX_SHOWN_CHARS);
    this.#last.set(from, shown);
    if (this.#entries.length > MAX_TRANSCRIPT_ENTRIES) return;
    const atMs = Math.round(performance.now() - this.#began);
    const full = this.#entries.length === MAX_TRANSCRIPT_ENTRIES;
    this.#entries.push(full ? { atMs, from: 'note', text: 'more is not kept' } : { atMs, from, text: shown });
  }

  /** The last thing that somebody said, or nothing. */
  last(from: TranscriptSource): string | undefined {
    return this.#last.get(from);
  }
}

/** Readable lines: `→` is sent by the suite, `←` by the target. */
export function transcriptLines(entries: readonly TranscriptEntry[]): string[] {
  return entries.map(({ atMs, from, text }) => `${String(atMs).padStart(6)} ms ${ARROWS[from]} ${text}`);
}

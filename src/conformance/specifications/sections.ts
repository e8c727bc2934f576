import type { Sentence } from '../specification.js';

/** Id within its text, identifying words, and the reason where no check is possible. */
export type SentenceRow = readonly [id: string, quote: string, untested?: string];

/** Gives a function that lists the sentences of one section of a text, whose ids begin with the text's own. */
export function sectionsOf(text: string): (section: string, ...rows: readonly SentenceRow[]) => Sentence[] {
  return (section, ...rows) =>
    rows.map(([id, quote, untested]) => ({
      id: `${text}.${id}`,
      section,
      quote,
      ...(untested === undefined ? {} : { untested }),
    }));
}

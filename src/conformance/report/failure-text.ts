import type { Outcome } from '../outcome.js';
import type { Specification } from '../specification.js';
import type { TranscriptEntry } from '../transcript.js';
import { transcriptLines } from '../transcript.js';

/** What a failed check has to say, line by line. */
export function failureText(
  outcome: Outcome,
  specifications: readonly Specification[],
  detail: 'short' | 'with-transcript',
): string[] {
  const { check, verdict } = outcome;
  if (verdict.status !== 'failed') return [];
  const { expected, cameBack, sent } = verdict.failure;
  return [
    ...quotesOf(check.cites, specifications),
    ...(check.level === 'RECOMMENDED' ? [`recommended: ${check.reason}`] : []),
    `sent:      ${sent === '' ? 'nothing' : sent}`,
    `came back: ${cameBack}`,
    `expected:  ${expected}`,
    ...(detail === 'with-transcript' ? transcriptOf(outcome.transcript) : []),
  ];
}

function quotesOf(cites: readonly string[], specifications: readonly Specification[]): string[] {
  return specifications.flatMap(({ title, sentences }) =>
    sentences
      .filter(({ id }) => cites.includes(id))
      .map(({ section, quote }) => `says:      “${quote}” (${title}, ${section})`),
  );
}

function transcriptOf(entries: readonly TranscriptEntry[]): string[] {
  return ['transcript:', ...transcriptLines(entries)];
}

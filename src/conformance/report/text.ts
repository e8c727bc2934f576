import { printable } from '../../wire/index.js';
import { MAX_SHOWN_CHARS } from '../limits.js';
import { countOf, type Outcome, type Report, summaryOf } from '../outcome.js';
import type { Specification } from '../specification.js';
import { transcriptLines } from '../transcript.js';
import { failureText } from './failure-text.js';

const MARKS = { passed: '✓', failed: '✗', skipped: '–' } as const;

export interface TextOptions {
  readonly specifications: readonly Specification[];
  /** With transcripts of every check that is reported, or of none. */
  readonly transcripts: 'all' | 'none';
  /** How to run one check again, given its id. */
  readonly again: (id: string) => string;
}

/** A report for people: every check by group, what failed in full, and the summary as the last lines. */
export function textReport(report: Report, options: TextOptions): string {
  const lines = [`${report.title}: ${printable(report.target, MAX_SHOWN_CHARS)}`];
  for (const group of report.groups) {
    const outcomes = report.outcomes.filter(({ check }) => check.group === group);
    if (outcomes.length === 0) continue;
    lines.push('', group, ...outcomes.flatMap((outcome) => outcomeText(outcome, options)));
  }
  const { passed, failed, skipped, failedMusts } = countOf(report.outcomes);
  const seconds = (report.durationMs / 1_000).toFixed(1);
  lines.push('', summaryOf(report));
  lines.push(`${passed} passed, ${failed} failed (${failedMusts} of them MUST), ${skipped} skipped, in ${seconds} s`);
  return `${lines.join('\n')}\n`;
}

function outcomeText(outcome: Outcome, { specifications, transcripts, again }: TextOptions): string[] {
  const { check, verdict } = outcome;
  const level = verdict.status === 'failed' ? ` ${check.level}` : '';
  const reason = verdict.status === 'skipped' ? ` (skipped: ${verdict.reason})` : '';
  const head = `  ${MARKS[verdict.status]}${level} ${check.id}: ${check.title}${reason}`;
  const detail = transcripts === 'all' ? 'with-transcript' : 'short';
  const passed = transcripts === 'all' ? transcriptLines(outcome.transcript) : [];
  const failed = (): string[] => [...failureText(outcome, specifications, detail), `again:     ${again(check.id)}`];
  return [head, ...(verdict.status === 'failed' ? failed() : passed).map((line) => `      ${line}`)];
}

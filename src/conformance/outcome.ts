import type { CheckFacts } from './check.js';
import type { TranscriptEntry } from './transcript.js';

/** What a failed check has to say. */
export interface Failure {
  readonly expected: string;
  readonly cameBack: string;
  /** The last thing that was sent before. Empty when nothing was. */
  readonly sent: string;
}

export type Verdict =
  | { readonly status: 'passed' }
  | { readonly status: 'failed'; readonly failure: Failure }
  | { readonly status: 'skipped'; readonly reason: string };

/** A check and how it went. */
export interface Outcome {
  readonly check: CheckFacts;
  readonly verdict: Verdict;
  readonly durationMs: number;
  readonly transcript: readonly TranscriptEntry[];
}

/** How a whole suite went. */
export interface Report {
  readonly suite: string;
  readonly title: string;
  readonly target: string;
  readonly groups: readonly string[];
  readonly outcomes: readonly Outcome[];
  readonly durationMs: number;
}

export interface Count {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** Failed checks of the level MUST. */
  readonly failedMusts: number;
}

/** Counts outcomes. A target conforms when no MUST failed. */
export function countOf(outcomes: readonly Outcome[]): Count {
  const of = (status: string): Outcome[] => outcomes.filter(({ verdict }) => verdict.status === status);
  const failed = of('failed');
  return {
    passed: of('passed').length,
    failed: failed.length,
    skipped: of('skipped').length,
    failedMusts: failed.filter(({ check }) => check.level === 'MUST').length,
  };
}

/** One line: `Core: 18/18 · Standard: 11/12`. Skipped checks do not count. */
export function summaryOf({ groups, outcomes }: Pick<Report, 'groups' | 'outcomes'>): string {
  return groups
    .map((group) => ({ group, count: countOf(outcomes.filter(({ check }) => check.group === group)) }))
    .filter(({ count }) => count.passed + count.failed > 0)
    .map(({ group, count }) => `${group}: ${count.passed}/${count.passed + count.failed}`)
    .join(' · ');
}

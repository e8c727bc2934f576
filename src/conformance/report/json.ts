import { countOf, type Report, summaryOf } from '../outcome.js';

/** A report for programs. Transcripts are there for the checks that failed, or for all. */
export function jsonReport(report: Report, transcripts: 'all' | 'failed'): string {
  const { suite, target, durationMs } = report;
  const checks = report.outcomes.map(({ check, verdict, durationMs: tookMs, transcript }) => ({
    ...check,
    ...verdict,
    durationMs: tookMs,
    ...(transcripts === 'all' || verdict.status === 'failed' ? { transcript } : {}),
  }));
  const body = { suite, target, durationMs, summary: summaryOf(report), ...countOf(report.outcomes), checks };
  return `${JSON.stringify(body, null, 2)}\n`;
}

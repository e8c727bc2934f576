import { countOf, type Report, summaryOf } from '../outcome.js';

/** A report for programs. `reason` says why a check is RECOMMENDED, `skipReason` why it was skipped. Transcripts are there for the checks that failed, or for all. */
export function jsonReport(report: Report, transcripts: 'all' | 'failed'): string {
  const { suite, target, durationMs } = report;
  const checks = report.outcomes.map(({ check, verdict, durationMs: tookMs, transcript }) => ({
    ...check,
    ...(verdict.status === 'skipped' ? { status: verdict.status, skipReason: verdict.reason } : verdict),
    durationMs: tookMs,
    ...(transcripts === 'all' || verdict.status === 'failed' ? { transcript } : {}),
  }));
  const body = { suite, target, durationMs, summary: summaryOf(report), ...countOf(report.outcomes), checks };
  return `${JSON.stringify(body, null, 2)}\n`;
}

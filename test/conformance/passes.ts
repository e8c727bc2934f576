import { expect } from 'vitest';
import { countOf, type Outcome, type RunOptions, runSuite, type Target } from '../../src/conformance/index.js';

/** A whole suite, with a process for each check. */
export const SUITE_TIMEOUT_MS = 600_000;
/** Everything else on the machine may be busy as well. */
const LIMIT_MS = 30_000;

const failed = (outcomes: readonly Outcome[]) =>
  outcomes.flatMap(({ check, verdict }) => (verdict.status === 'failed' ? [[check.id, verdict.failure] as const] : []));

/** The failures of a suite, with how they failed. */
export async function failures(suite: string, target: Target, options: RunOptions = {}) {
  return (await judged(suite, target, options)).failures;
}

/** The failures of a suite, and the checks that it skipped. */
export async function judged(suite: string, target: Target, options: RunOptions = {}) {
  const { outcomes } = await runSuite(suite, target, { limitMs: LIMIT_MS, ...options });
  expect(countOf(outcomes).passed).toBeGreaterThan(0);
  const skipped = outcomes.filter(({ verdict }) => verdict.status === 'skipped').map(({ check }) => check.id);
  return { failures: failed(outcomes), skipped };
}

import type { Verdict } from './outcome.js';
import { failureText } from './report/failure-text.js';
import { runCheck } from './run-check.js';
import { loadSuite, type RunOptions } from './run-suite.js';
import type { Target } from './target/target.js';

/** A check in the form that vitest, jest and node:test take. */
export interface CheckTest {
  readonly id: string;
  readonly title: string;
  readonly level: string;
  /** Rejects when the check fails, with all there is to say; tells otherwise whether it passed or was skipped. */
  readonly run: () => Promise<Exclude<Verdict, { status: 'failed' }>>;
}

/** Gives the checks of a suite to a test framework: `for (const check of await suite('runner', target)) test(check.id, check.run)`. */
export async function suite(
  name: string,
  target: Target,
  options: Omit<RunOptions, 'jobs' | 'onOutcome' | 'signal'> = {},
): Promise<CheckTest[]> {
  const { suite: loaded, checks, context } = await loadSuite(name, target, options);
  return checks.map((check) => ({
    id: check.id,
    title: check.title,
    level: check.level,
    run: async () => {
      const outcome = await runCheck(check, context);
      const { verdict } = outcome;
      if (verdict.status !== 'failed') return verdict;
      const lines = failureText(outcome, loaded.specifications, 'with-transcript');
      throw new Error([`${check.id}: ${check.title}`, ...lines].join('\n'));
    },
  }));
}

import { CheckFailed, NotApplicable } from './check.js';
import { type OpenContext, openContext, type RunContext } from './context.js';
import { CHECK_GRACE_MS, DEFAULT_CHECK_LIMIT_MS } from './limits.js';
import type { Outcome, Verdict } from './outcome.js';
import type { SuiteCheck } from './suite.js';

/** Runs one check against a fresh target, within its limit, and ends the target. Never throws. */
export async function runCheck(check: SuiteCheck, options: RunContext): Promise<Outcome> {
  const began = performance.now();
  const limitMs = options.limitMs ?? check.limitMs ?? DEFAULT_CHECK_LIMIT_MS;
  const context = openContext({ ...options, limitMs });
  let verdict: Verdict;
  try {
    verdict = await judge(check, context);
  } finally {
    await context[Symbol.asyncDispose]();
  }
  const { run: _, ...facts } = check;
  const durationMs = Math.round(performance.now() - began);
  return { check: facts, verdict, durationMs, transcript: context.transcript.entries };
}

async function judge(check: SuiteCheck, context: OpenContext): Promise<Verdict> {
  const { limitMs } = context.deadline;
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_, reject) => {
    const late = new CheckFailed({ expected: `the check to end within ${limitMs} ms`, cameBack: 'it did not' });
    timer = setTimeout(() => reject(late), limitMs + CHECK_GRACE_MS);
  });
  const run = check.run(context);
  try {
    await Promise.race([run, over]);
    return { status: 'passed' };
  } catch (error) {
    if (error instanceof NotApplicable) return { status: 'skipped', reason: error.message };
    return { status: 'failed', failure: failureOf(error, context) };
  } finally {
    clearTimeout(timer);
    // A check that was given up may still fail when its target is taken from it.
    run.catch(() => {});
  }
}

function failureOf(error: unknown, { transcript }: OpenContext) {
  const sent = transcript.last('suite') ?? '';
  if (error instanceof CheckFailed) return { sent, expected: error.expected, cameBack: error.cameBack };
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { sent, expected: 'the check itself to work', cameBack: reason };
}

import { printable } from '../wire/index.js';
import { CheckFailed, NotApplicable } from './check.js';
import { type OpenContext, openContext, type RunContext } from './context.js';
import { CHECK_GRACE_MS, DEFAULT_CHECK_LIMIT_MS, MAX_SHOWN_CHARS } from './limits.js';
import type { Failure, Outcome, Verdict } from './outcome.js';
import type { SuiteCheck } from './suite.js';

/** Runs one check against a fresh target, within its limit, and ends the target. Throws only when the signal fires, its reason. */
export async function runCheck(check: SuiteCheck, options: RunContext, signal?: AbortSignal): Promise<Outcome> {
  const began = performance.now();
  const limitMs = options.limitMs ?? check.limitMs ?? DEFAULT_CHECK_LIMIT_MS;
  const context = openContext({ ...options, limitMs });
  let verdict: Verdict;
  try {
    verdict = await judge(check, context, signal);
  } finally {
    await context[Symbol.asyncDispose]();
  }
  const { run: _, ...facts } = check;
  const durationMs = Math.round(performance.now() - began);
  return { check: facts, verdict, durationMs, transcript: context.transcript.entries };
}

async function judge(check: SuiteCheck, context: OpenContext, signal?: AbortSignal): Promise<Verdict> {
  const { limitMs } = context.deadline;
  let timer: NodeJS.Timeout | undefined;
  let giveUp = (): void => {};
  const over = new Promise<never>((_, reject) => {
    const late = new CheckFailed({ expected: `the check to end within ${limitMs} ms`, cameBack: 'it did not' });
    timer = setTimeout(() => reject(late), limitMs + CHECK_GRACE_MS);
    giveUp = () => reject(signal?.reason);
  });
  signal?.addEventListener('abort', giveUp, { once: true });
  const run = check.run(context);
  try {
    await Promise.race([run, over]);
    return { status: 'passed' };
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof NotApplicable) return { status: 'skipped', reason: printable(error.message, MAX_SHOWN_CHARS) };
    return { status: 'failed', failure: failureOf(error, context) };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
    // A check that was given up may still fail when its target is taken from it.
    run.catch(() => {});
  }
}

/** What failed, with the words of the target cut and made safe to show. */
function failureOf(error: unknown, { transcript }: OpenContext): Failure {
  const { expected, cameBack } = error instanceof CheckFailed ? error : brokenCheck(error);
  return {
    sent: transcript.last('suite') ?? '',
    expected: printable(expected, MAX_SHOWN_CHARS),
    cameBack: printable(cameBack, MAX_SHOWN_CHARS),
  };
}

function brokenCheck(error: unknown): Pick<Failure, 'expected' | 'cameBack'> {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { expected: 'the check itself to work', cameBack: reason.replaceAll(/\s*\n\s*/g, ' ') };
}

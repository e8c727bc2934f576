import type { CheckContext } from './context.js';

/** How binding a check is. RECOMMENDED stands where the text is silent, and says why we ask for it all the same. */
export type Level = 'MUST' | 'SHOULD' | 'RECOMMENDED';

interface CheckBase {
  /** Stable, dotted, and begins with the suite's name: `runner.execute.returns-result`. */
  readonly id: string;
  /** A sentence about what a conforming target does. */
  readonly title: string;
  /** One of the suite's groups; the summary counts by it. */
  readonly group: string;
  /** Ids of the sentences that it tests. Only a RECOMMENDED check may have none. */
  readonly cites: readonly string[];
  /** What it may take where nobody says otherwise; the usual time unless given. */
  readonly limitMs?: number;
}

/** What is known of a check before it runs. */
export type CheckFacts = CheckBase &
  (
    | { readonly level: 'MUST' | 'SHOULD' }
    | {
        readonly level: 'RECOMMENDED';
        /** Why a target should do it although the text does not say so. */
        readonly reason: string;
      }
  );

/** One thing that a target must or should do, and the way to find out whether it does. */
export type Check<Session> = CheckFacts & {
  /** Resolves when the target does it; throws `CheckFailed` when it does not, `NotApplicable` when it cannot be asked. */
  readonly run: (session: Session, context: CheckContext) => Promise<void>;
};

/** Says what was expected and what came instead. What was sent is taken from the transcript. */
export class CheckFailed extends Error {
  override readonly name = 'CheckFailed';
  readonly expected: string;
  readonly cameBack: string;

  constructor(failure: { readonly expected: string; readonly cameBack: string }) {
    super(`expected ${failure.expected}; came back: ${failure.cameBack}`);
    this.expected = failure.expected;
    this.cameBack = failure.cameBack;
  }
}

/** Says that a check does not apply to this target: it is skipped, with the reason. */
export class NotApplicable extends Error {
  override readonly name = 'NotApplicable';
}

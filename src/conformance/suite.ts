import type { Check, CheckFacts } from './check.js';
import type { CheckContext, RunContext } from './context.js';
import type { Specification } from './specification.js';

/** What the author of a suite writes. `Session` is whatever its checks talk through, opened afresh for each. */
export interface SuiteDefinition<Session> {
  readonly name: string;
  /** The protocol and the side that is judged: `execbox runner`. */
  readonly title: string;
  /** The groups of the summary, in its order. */
  readonly groups: readonly string[];
  /** The texts that it tests. Suites for two sides of one protocol share theirs. */
  readonly specifications: readonly Specification[];
  readonly checks: readonly Check<Session>[];
  /** Opens a fresh session with the target. What it opens through the context ends with the check. */
  readonly open: (context: CheckContext) => Session | Promise<Session>;
  /** Ends what the checks of a run share. */
  readonly close?: (run: RunContext) => Promise<void>;
}

export type SuiteCheck = CheckFacts & {
  readonly run: (context: CheckContext) => Promise<void>;
};

/** A suite as the runner of checks sees it: what its sessions are is its own business. */
export interface Suite {
  readonly name: string;
  readonly title: string;
  readonly groups: readonly string[];
  readonly specifications: readonly Specification[];
  readonly checks: readonly SuiteCheck[];
  readonly close?: (run: RunContext) => Promise<void>;
}

/** Makes a suite of its checks and the way to open a session. */
export function defineSuite<Session>(definition: SuiteDefinition<Session>): Suite {
  const { name, title, groups, specifications, open, close } = definition;
  const checks = definition.checks.map((check) => ({
    ...check,
    run: async (context: CheckContext) => check.run(await open(context), context),
  }));
  return { name, title, groups, specifications, checks, ...(close === undefined ? {} : { close }) };
}

import { expect } from 'vitest';
import { type RunOptions, runSuite, type Target } from '../../src/conformance/index.js';

/** Judges a target with a whole suite, and expects no failure of any level and no skipped check but the named ones. */
export async function expectToPass(
  suite: string,
  target: Target,
  { skips = [], ...options }: RunOptions & { readonly skips?: readonly string[] } = {},
): Promise<void> {
  const { outcomes } = await runSuite(suite, target, { limitMs: 30_000, jobs: 3, ...options });
  const failed = outcomes.flatMap(({ check, verdict }) =>
    verdict.status === 'failed' ? [[check.id, verdict.failure] as const] : [],
  );
  expect(Object.fromEntries(failed)).toEqual({});
  const skipped = outcomes.filter(({ verdict }) => verdict.status === 'skipped').map(({ check }) => check.id);
  expect(skipped).toEqual(skips);
}

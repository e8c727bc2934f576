import { isDeepStrictEqual } from 'node:util';
import { CheckFailed } from './check.js';

/** Fails a check unless the condition holds. */
export function expectThat(condition: boolean, expected: string, cameBack: unknown): asserts condition {
  if (!condition) throw new CheckFailed({ expected, cameBack: show(cameBack) });
}

/** Fails a check unless both are deeply equal. */
export function expectEqual(actual: unknown, wanted: unknown, what: string): void {
  expectThat(isDeepStrictEqual(actual, wanted), `${what} to be ${show(wanted)}`, actual);
}

/** Shows a value in one line. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value;
  return JSON.stringify(value) ?? String(value);
}

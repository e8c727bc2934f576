import { InvalidArgumentError } from 'commander';
import { DEFAULT_PROCESS_LIMITS, type ProcessLimits } from '../process/index.js';
import { positiveInteger } from './options.js';

function isLimit(name: string): name is keyof ProcessLimits {
  return Object.hasOwn(DEFAULT_PROCESS_LIMITS, name);
}

/** Reads `--limit NAME=NUMBER`, which can be given several times. */
export function limitOption(text: string, earlier: Partial<ProcessLimits>): Partial<ProcessLimits> {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(at, 0));
  if (!isLimit(name)) {
    throw new InvalidArgumentError(
      `expected NAME=NUMBER, with one of ${Object.keys(DEFAULT_PROCESS_LIMITS).join(', ')}`,
    );
  }
  return { ...earlier, [name]: positiveInteger(text.slice(at + 1)) };
}

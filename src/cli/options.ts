import { InvalidArgumentError, Option } from 'commander';

/** Where guests of a command run. */
export type CommandIsolation = 'thread' | 'process' | 'container';

/** Where guests run. */
export function isolationOption(level: CommandIsolation): Option {
  return new Option('--isolation <level>', 'where guests run')
    .choices(['thread', 'process', 'container'])
    .default(level);
}

/** Reads an option that is a whole number of at least 1. */
export function positiveInteger(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value) || value < 1) {
    throw new InvalidArgumentError('expected a whole number of at least 1');
  }
  return value;
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function timeIn(text: string, otherwise: 's' | 'ms'): number {
  const [, digits, unit = otherwise] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h|d)?$/.exec(text) ?? [];
  if (digits === undefined) throw new InvalidArgumentError('It must be a time, such as 500ms, 30s or 5m.');
  return Math.ceil(Number(digits) * (UNITS[unit] ?? 1));
}

function some(milliseconds: number): number {
  if (milliseconds === 0) throw new InvalidArgumentError('It must be longer than nothing.');
  return milliseconds;
}

/** Reads a time, in milliseconds. A number without a unit is seconds. */
export function duration(text: string): number {
  return timeIn(text, 's');
}

/** Reads a time that a command may take: there must be some. A number without a unit is seconds. */
export function timeLimit(text: string): number {
  return some(timeIn(text, 's'));
}

/** Reads a time that a call may take. A number without a unit is milliseconds, as in the limits of programs. */
export function callTimeLimit(text: string): number {
  return some(timeIn(text, 'ms'));
}

/** Collects the values of an option that can be given several times. */
export function collect(value: string, earlier: readonly string[] = []): readonly string[] {
  return [...earlier, value];
}

/** Collects NAME=VALUE pairs of an option that can be given several times. */
export function collectVariable(pair: string, earlier: Readonly<Record<string, string>>): Record<string, string> {
  const at = pair.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It must be NAME=VALUE.');
  return { ...earlier, [pair.slice(0, at)]: pair.slice(at + 1) };
}

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

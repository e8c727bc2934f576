import { CommanderError } from 'commander';
import { isSallyportError } from '../errors/index.js';

/** What the exit codes of the command mean. */
export const EXIT = {
  ok: 0,
  /** What was run failed, or a check did not pass. */
  failure: 1,
  /** The command line, a file, a folder or a port cannot be used. */
  usage: 2,
} as const;

/** An end of the command with one line for the user and an exit code. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.usage) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Prints an error as one line and returns the exit code that goes with it. */
export function reportError(error: unknown, print: (line: string) => void): number {
  if (error instanceof CommanderError) {
    // Commander has printed its own line already; help and version are no errors.
    return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  }
  if (error instanceof CliError) {
    print(`sallyport: ${error.message}`);
    return error.exitCode;
  }
  if (isSallyportError(error)) {
    print(`sallyport: ${error.message} (${error.code})`);
    return EXIT.failure;
  }
  print(`sallyport: unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return EXIT.failure;
}

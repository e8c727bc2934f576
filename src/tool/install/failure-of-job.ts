import { printable } from '../../wire/index.js';
import { diskFull, failure, ToolFailureError } from '../failure.js';
import { JobFailure } from './installer.js';

const MESSAGE_CHARACTERS = 600;

/** Puts a failed job into the words of the protocol. */
export function failureOfJob(error: unknown, subject: string, phase: 'resolve' | 'install'): ToolFailureError {
  if (error instanceof ToolFailureError) return error;
  const full = diskFull(
    error instanceof JobFailure ? error.error.code : error instanceof Error && 'code' in error && error.code,
  );
  if (full !== undefined) return new ToolFailureError(full);
  if (!(error instanceof JobFailure)) {
    const message = error instanceof Error ? error.message : String(error);
    return failure(
      'INTERNAL_ERROR',
      `cannot ${phase} ${subject}: ${message}`,
      { phase },
      { retryable: true, cause: error },
    );
  }
  const { problem, message, code } = error.error;
  const details = { phase, reason: problem, ...(code === undefined ? {} : { npmCode: code }) };
  const text = printable(`cannot ${phase} ${subject}: ${message}`, MESSAGE_CHARACTERS);
  switch (problem) {
    case 'internal':
      return failure('INTERNAL_ERROR', text, details, { retryable: true });
    case 'integrity':
      return failure('INTEGRITY_MISMATCH', text, details, { retryable: false });
    case 'unreachable':
      return failure('PACKAGE_NOT_FOUND', text, details, { retryable: true });
    default:
      return failure('PACKAGE_NOT_FOUND', text, details, { retryable: false });
  }
}

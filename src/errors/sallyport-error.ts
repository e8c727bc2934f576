import type { ErrorCode } from './registry.js';

/** Facts about a failure that programs may read: limits, sizes, offsets, signals. */
export type ErrorFacts = Readonly<Record<string, string | number | boolean | null>>;

/** The one error class of Sallyport: a registered code, a message for people, and the facts as data. */
export class SallyportError extends Error {
  override readonly name = 'SallyportError';
  readonly code: ErrorCode;
  readonly facts: ErrorFacts;

  constructor(code: ErrorCode, message: string, facts: ErrorFacts = {}, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.facts = facts;
  }
}

/** Tells whether something thrown is one of ours, optionally with one particular code. */
export function isSallyportError(error: unknown, code?: ErrorCode): error is SallyportError {
  return error instanceof SallyportError && (code === undefined || error.code === code);
}

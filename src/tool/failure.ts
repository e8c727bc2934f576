import type { ToolErrorBody, ToolErrorCode } from './messages.js';

/** What went wrong in an execution: a code of the protocol, words for people, and the facts. */
export interface ToolFailure {
  readonly code: ToolErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** Whether the same request may succeed later. */
  readonly retryable?: boolean;
}

/** A failure on its way through code that returns something else. */
export class ToolFailureError extends Error {
  override readonly name = 'ToolFailureError';
  readonly failure: ToolFailure;

  constructor(failure: ToolFailure, options?: ErrorOptions) {
    super(failure.message, options);
    this.failure = failure;
  }
}

/** Makes a failure that can be thrown. */
export function failure(
  code: ToolErrorCode,
  message: string,
  details?: Readonly<Record<string, unknown>>,
  more: { readonly retryable?: boolean; readonly cause?: unknown } = {},
): ToolFailureError {
  const { retryable, cause } = more;
  return new ToolFailureError(
    { code, message, ...(details === undefined ? {} : { details }), ...(retryable === undefined ? {} : { retryable }) },
    { cause },
  );
}

/** When somebody may have made room. */
const DISK_FULL_RETRY_SECONDS = 10;
const DISK_FULL = new Set(['ENOSPC', 'EDQUOT', 'SQLITE_FULL']);

/** The failure that a full disk is, if that is what a code of the system or the store says. */
export function diskFull(code: unknown): ToolFailure | undefined {
  if (typeof code !== 'string' || !DISK_FULL.has(code)) return undefined;
  return {
    code: 'OVERLOADED',
    message: 'the disk of the cache is full: make room, or try again later',
    details: { reason: 'disk-full', retryAfterSeconds: DISK_FULL_RETRY_SECONDS },
    retryable: true,
  };
}

/** The failure in whatever was thrown; what nobody foresaw is INTERNAL_ERROR. */
export function failureOf(error: unknown): ToolFailure {
  if (error instanceof ToolFailureError) return error.failure;
  const full = error instanceof Error && 'code' in error ? diskFull(error.code) : undefined;
  if (full !== undefined) return full;
  const message = error instanceof Error ? error.message : String(error);
  return { code: 'INTERNAL_ERROR', message: `unexpected error in the executor: ${message}`, retryable: true };
}

type Stage = 'request' | 'load' | 'execute' | 'executor';

const STAGES: Partial<Record<ToolErrorCode, Stage>> = {
  INVALID_REQUEST: 'request',
  INTEGRITY_MISMATCH: 'load',
  NOT_CACHED: 'load',
  PACKAGE_NOT_FOUND: 'load',
  TOOL_NOT_FOUND: 'load',
  TOOL_INVALID: 'load',
  TOOL_EXECUTION_ERROR: 'execute',
  EXECUTION_TIMEOUT: 'execute',
  EXECUTION_CANCELLED: 'execute',
  DEPENDENCY_FAILED: 'request',
};

/** The typed fields of protocol 1.1 beside the `error` of 1.0. */
export function failureFields(failed: ToolFailure): {
  readonly error: ToolErrorBody;
  readonly errorCode: ToolErrorCode;
  readonly errorStage: Stage;
  readonly retryable: boolean;
} {
  const { code, message, details, retryable = false } = failed;
  const phase = details?.['phase'];
  const stage =
    phase === 'import' || phase === 'install' || phase === 'resolve' ? 'load' : (STAGES[code] ?? 'executor');
  return {
    error: { code, message, ...(details === undefined ? {} : { details: { ...details } }) },
    errorCode: code,
    errorStage: stage,
    retryable,
  };
}

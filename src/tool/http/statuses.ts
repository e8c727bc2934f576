import type { ToolErrorCode } from '../messages.js';

/** Codes that have an HTTP status of their own. A tool that failed is an answer like any other: 200. */
const STATUSES: Partial<Record<ToolErrorCode, number>> = {
  INVALID_REQUEST: 400,
  UNAUTHORIZED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
  IDEMPOTENCY_CONFLICT: 409,
  PAYLOAD_TOO_LARGE: 413,
  UNSUPPORTED_MEDIA_TYPE: 415,
  INTERNAL_ERROR: 500,
  OVERLOADED: 503,
};

/** The HTTP status that goes with a code. */
export function statusOf(code: ToolErrorCode): number {
  return STATUSES[code] ?? 200;
}

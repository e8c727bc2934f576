import { printable } from '../../wire/index.js';
import { type Problem, ProblemError } from './problem.js';

/** Puts errors of the framework into the form of every other problem. What is not foreseen tells nothing of the inside. */
export function problemOf(error: unknown): Problem {
  if (error instanceof ProblemError) return error.problem;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return { status: 413, code: 'PAYLOAD_TOO_LARGE', message: 'the body is too large' };
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    const details = { field: 'Content-Type' };
    return { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message: 'the body must be application/json', details };
  }
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    const message = printable(error instanceof Error ? error.message : 'the request is not valid', 300);
    return { status, code: 'INVALID_REQUEST', message };
  }
  return { status: 500, code: 'INTERNAL_ERROR', message: 'something went wrong inside the server; its log has more' };
}

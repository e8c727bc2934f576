import type { FastifyReply } from 'fastify';

export type ProblemCode =
  | 'INVALID_REQUEST'
  | 'UNAUTHORIZED'
  | 'FORBIDDEN'
  | 'NOT_FOUND'
  | 'PAYLOAD_TOO_LARGE'
  | 'UNSUPPORTED_MEDIA_TYPE'
  | 'RATE_LIMITED'
  | 'OVERLOADED'
  | 'DRAINING'
  | 'INTERNAL_ERROR';

/** Why a request is not served, in the form that every path answers with. */
export interface Problem {
  readonly status: number;
  readonly code: ProblemCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, string | number>>;
}

/** A problem on its way to the answer. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.message);
    this.problem = problem;
  }
}

/** Makes the error for a request that is not well-formed. */
export function invalidRequest(message: string, field: string): ProblemError {
  return new ProblemError({ status: 400, code: 'INVALID_REQUEST', message, details: { field } });
}

/** The body of the answer: the form of the tool protocol, wherever the error comes from. */
export function problemBody({ code, message, details }: Problem): unknown {
  return { success: false, error: { code, message, ...(details === undefined ? {} : { details }) } };
}

/** Answers with a problem. */
export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const { status } = problem;
  const retryAfter = problem.details?.['retryAfterSeconds'];
  if (retryAfter !== undefined) reply.header('Retry-After', String(retryAfter));
  if (status === 401) reply.header('WWW-Authenticate', 'Bearer');
  // What is left of a refused body is not read.
  if (status === 401 || status === 403 || status === 413 || status === 429 || status === 503) {
    reply.header('Connection', 'close');
  }
  return reply.code(status).send(problemBody(problem));
}

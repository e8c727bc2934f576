/**
 * The wire types of the protocol, names verbatim, and the envelope. What a request's parameters look like in each
 * dialect is in `routes/`.
 */

/** The two revisions of the protocol. A client of the later one always sends `resumeSessionId`, even as null. */
export type Dialect = 'first' | 'later';

export type RequestId = string | number;

/** A message as it arrives. */
export type Incoming =
  | { readonly kind: 'request'; readonly id: RequestId; readonly method: string; readonly params: unknown }
  | { readonly kind: 'notification'; readonly method: string; readonly params: unknown }
  | { readonly kind: 'response'; readonly id: RequestId; readonly result: unknown }
  | { readonly kind: 'error'; readonly id: RequestId; readonly code: number; readonly message: string }
  | { readonly kind: 'malformed'; readonly problem: string };

/** What stands in for bytes that are not a JSON document within the budget. */
export class Malformed {
  readonly problem: string;

  constructor(error: Error) {
    this.problem = error.message;
  }
}

export type StreamName = 'stdout' | 'stderr' | 'pty';

export interface OutputChunk {
  readonly seq: number;
  readonly stream: StreamName;
  readonly chunk: string;
}

export interface InitializeParams {
  readonly clientName: string;
  /** Only in the later dialect. */
  readonly resumeSessionId?: string | null;
  /** Largest piece of output that the client wants in one message; an addition. */
  readonly maxChunkBytes?: number;
}

export interface ReadResponse {
  readonly chunks: readonly OutputChunk[];
  readonly nextSeq: number;
  readonly exited: boolean;
  readonly exitCode: number | null;
  readonly closed?: boolean;
  readonly failure?: string | null;
  readonly sandboxDenied?: boolean;
  /** Set when chunks that were asked for are no longer kept. */
  readonly truncated?: true;
  readonly firstSeq?: number;
}

export type WriteStatus = 'accepted' | 'unknownProcess' | 'stdinClosed' | 'starting';

export interface ExecOutputDeltaNotification {
  readonly processId: string;
  readonly seq?: number;
  readonly stream: StreamName;
  readonly chunk: string;
}

export interface ExecExitedNotification {
  readonly processId: string;
  readonly seq?: number;
  readonly exitCode: number;
  readonly sandboxDenied?: boolean;
  /** Set when the time that `timeoutMs` granted was up; an addition. */
  readonly timedOut?: true;
}

export interface ExecClosedNotification {
  readonly processId: string;
  readonly seq: number;
}

export interface HttpHeader {
  readonly name: string;
  readonly value: string;
}

export interface HttpBodyDeltaNotification {
  readonly requestId: string;
  readonly seq: number;
  readonly deltaBase64: string;
  readonly done: boolean;
  readonly error: string | null;
}

/** Tells an object from everything else that JSON knows. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads the envelope of a message. Unknown fields are ignored; `jsonrpc` is neither needed nor checked. */
export function readEnvelope(message: unknown, maxIdLength: number): Incoming {
  const malformed = (problem: string): Incoming => ({ kind: 'malformed', problem });
  if (message instanceof Malformed) return malformed(message.problem);
  if (!isObject(message)) return malformed('a message must be a JSON object');
  const { id, method, params, result, error } = message;
  if (method !== undefined) {
    if (typeof method !== 'string') return malformed('method must be a string');
    if (!Object.hasOwn(message, 'id')) return { kind: 'notification', method, params };
    if (!isRequestId(id, maxIdLength)) return malformed('id must be a string or an integer');
    return { kind: 'request', id, method, params };
  }
  if (!isRequestId(id, maxIdLength)) return malformed('a message needs a method, or an id with a result or an error');
  if (isObject(error)) {
    const code = typeof error['code'] === 'number' ? error['code'] : 0;
    return { kind: 'error', id, code, message: String(error['message'] ?? '') };
  }
  if (Object.hasOwn(message, 'result')) return { kind: 'response', id, result };
  return malformed('a message needs a method, a result or an error');
}

function isRequestId(id: unknown, maxLength: number): id is RequestId {
  return typeof id === 'string' ? id.length <= maxLength : Number.isSafeInteger(id);
}

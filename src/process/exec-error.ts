import { isSallyportError, SallyportError } from '../errors/index.js';

/** Why a request is refused. The protocol has one number for each. */
export type RefusalKind =
  | 'invalidRequest'
  | 'unknownMethod'
  | 'invalidParams'
  | 'internal'
  | 'notFound'
  | 'sessionAttached';

/** The numbers of the protocol. An unknown method has another one in the first dialect. */
export const REFUSAL_CODES: Readonly<Record<RefusalKind, number>> = {
  invalidRequest: -32600,
  unknownMethod: -32601,
  invalidParams: -32602,
  internal: -32603,
  notFound: -32004,
  sessionAttached: -32010,
};

/** A request that was refused, by this side or by the peer. */
export class ExecError extends SallyportError {
  readonly kind: RefusalKind;

  constructor(kind: RefusalKind, message: string, options?: ErrorOptions) {
    super('PROCESS_REFUSED', message, { kind, rpcCode: REFUSAL_CODES[kind] }, options);
    this.kind = kind;
  }
}

/** Finds the kind that a number of the protocol stands for. */
export function refusalKind(code: number): RefusalKind {
  for (const kind of ['unknownMethod', 'invalidParams', 'internal', 'notFound', 'sessionAttached'] as const) {
    if (REFUSAL_CODES[kind] === code) return kind;
  }
  return code === REFUSAL_CODES.invalidRequest ? 'invalidRequest' : 'internal';
}

/** Makes a refusal of whatever was thrown while a request was handled. */
export function asRefusal(error: unknown): ExecError {
  if (error instanceof ExecError) return error;
  if (isSallyportError(error, 'SPAWN_INVALID')) return new ExecError('invalidParams', error.message, { cause: error });
  const message = error instanceof Error ? error.message : String(error);
  return new ExecError('internal', message, { cause: error });
}

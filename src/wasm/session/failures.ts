import { isSallyportError, SallyportError } from '../../errors/index.js';
import { printable } from '../../wire/index.js';
import { MAX_ID_CHARS } from '../limits.js';

/** Longest part of an id or name of the peer that a message shows. */
const SHOWN_CHARS = 80;

/** Says that a message refers to something that is not there. */
export function unknownId(kind: string, id: string, why: string): SallyportError {
  const shown = printable(id, SHOWN_CHARS);
  return new SallyportError('WASM_UNKNOWN_ID', `${kind} for the id ${JSON.stringify(shown)}, which was ${why}`, {
    id: shown,
  });
}

/** Says that the peer called what it may not. */
export function notGranted(functionName: string): SallyportError {
  const shown = printable(functionName, SHOWN_CHARS);
  return new SallyportError('WASM_NOT_GRANTED', `the guest called ${JSON.stringify(shown)}, which was not granted`, {
    function: shown,
  });
}

/** Says that a program asked for a stream that its call does not have, or has already. */
export function streamRefused(id: string, why: 'absent' | 'taken'): SallyportError {
  const shown = printable(id, SHOWN_CHARS);
  const message =
    why === 'absent' ? `the parameters of the call have no stream ${shown}` : `stream ${shown} is sent already`;
  return new SallyportError('WASM_UNKNOWN_ID', message);
}

/** Says that a program took something for the id of a stream that cannot be one. */
export function noStreamId(id: unknown): SallyportError {
  const shown = typeof id === 'string' ? `a text of ${id.length} characters` : typeof id;
  const message = `the id of a stream must be a text of 1 to ${MAX_ID_CHARS} characters, not ${shown}`;
  return new SallyportError('WASM_UNKNOWN_ID', message);
}

/** Says that whoever called has given up. */
export function aborted(functionName: string): SallyportError {
  return new SallyportError('WASM_CALL_ABORTED', `the call of ${functionName} was aborted`, { function: functionName });
}

/** Says in the terms of this room why a call could not be sent. */
export function sendFailure(error: unknown, functionName: string): unknown {
  if (!isSallyportError(error)) return error;
  const facts = { ...error.facts, function: functionName };
  if (error.code === 'VALUE_NOT_SERIALIZABLE' || error.code === 'WIRE_BUDGET_BYTES') {
    return new SallyportError(
      'WASM_PARAMS_INVALID',
      `the parameters of ${functionName} cannot be sent: ${error.message}`,
      facts,
      { cause: error },
    );
  }
  return error.code === 'WIRE_BACKLOG' ? backlog(error, `the call of ${functionName} was`) : error;
}

/** Says that the peer does not read. */
export function backlog(error: SallyportError, what: string): SallyportError {
  return new SallyportError('WASM_BACKLOG', `${what} not sent: ${error.message}`, error.facts, { cause: error });
}

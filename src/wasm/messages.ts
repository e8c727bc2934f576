import { SallyportError } from '../errors/index.js';
import type { WireMap, WireValue } from '../wire/index.js';
import { MAX_ID_CHARS, MAX_NAME_CHARS } from './limits.js';

/** The numeric `type` of each message. */
export const MESSAGE_TYPE = {
  FunctionCall: 0,
  FunctionResponse: 1,
  FunctionError: 2,
  StreamChunk: 3,
  StreamEnd: 4,
  StreamError: 5,
} as const;

/** Requests execution of a named function. */
export interface FunctionCall {
  readonly type: 0;
  readonly id: string;
  readonly functionName: string;
  readonly params?: WireValue;
  /** `false` for a call that is never answered. */
  readonly expectsResponse?: boolean;
}

/** Reports successful completion of a function call. */
export interface FunctionResponse {
  readonly type: 1;
  readonly id: string;
  readonly result?: WireValue;
}

/** Reports failed completion of a function call. */
export interface FunctionError {
  readonly type: 2;
  readonly id: string;
  readonly error: string;
}

/** Delivers one stream item. */
export interface StreamChunk {
  readonly type: 3;
  readonly id: string;
  readonly chunk: WireValue;
}

/** Signals successful stream completion. */
export interface StreamEnd {
  readonly type: 4;
  readonly id: string;
}

/** Signals failed stream completion. */
export interface StreamError {
  readonly type: 5;
  readonly id: string;
  readonly error: string;
}

export type Message = FunctionCall | FunctionResponse | FunctionError | StreamChunk | StreamEnd | StreamError;

/** A message as it is handed to the encoder: its values are whatever a program gave, checked while they are encoded. */
export type OutgoingMessage =
  | (Omit<FunctionCall, 'params'> & { readonly params?: unknown })
  | (Omit<FunctionResponse, 'result'> & { readonly result?: unknown })
  | (Omit<StreamChunk, 'chunk'> & { readonly chunk: unknown })
  | FunctionError
  | StreamEnd
  | StreamError;

export type MessageCheck =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly problem: string };

/** Checks that a decoded value is a message. Extra fields are left alone; they mean nothing. */
export function checkMessage(value: WireValue): MessageCheck {
  if (!isMap(value)) return { ok: false, problem: 'the payload is not a map' };
  if (isMessage(value)) return { ok: true, message: value };
  return { ok: false, problem: problemOf(value) ?? '' };
}

/** Takes a decoded value for a message, or throws WASM_MESSAGE_INVALID with the reason. */
export function readMessage(value: WireValue): Message {
  const checked = checkMessage(value);
  if (checked.ok) return checked.message;
  throw new SallyportError('WASM_MESSAGE_INVALID', `a message does not fit the protocol: ${checked.problem}`);
}

/** The fields of a message before anything is known about them. */
export interface MessageFields {
  readonly [name: string]: WireValue | undefined;
}

/** The one place where the checks below become a type. */
export function isMessage(value: MessageFields): value is MessageFields & Message {
  return problemOf(value) === undefined;
}

function problemOf(value: MessageFields): string | undefined {
  const { id } = value;
  if (typeof id !== 'string') return `\`id\` is ${kindOf(id)} instead of a string`;
  if (id.length === 0 || id.length > MAX_ID_CHARS)
    return `\`id\` has ${id.length} characters instead of 1 to ${MAX_ID_CHARS}`;
  switch (value['type']) {
    case MESSAGE_TYPE.FunctionCall:
      return callProblem(value);
    case MESSAGE_TYPE.FunctionResponse:
    case MESSAGE_TYPE.StreamEnd:
      return undefined;
    case MESSAGE_TYPE.FunctionError:
    case MESSAGE_TYPE.StreamError:
      return typeof value['error'] === 'string'
        ? undefined
        : `\`error\` is ${kindOf(value['error'])} instead of a string`;
    case MESSAGE_TYPE.StreamChunk:
      return value['chunk'] === undefined ? 'a StreamChunk has no `chunk`' : undefined;
    default:
      return `\`type\` is ${kindOf(value['type'])} instead of an integer from 0 to 5`;
  }
}

function callProblem({ functionName, expectsResponse }: MessageFields): string | undefined {
  if (typeof functionName !== 'string') return `\`functionName\` is ${kindOf(functionName)} instead of a string`;
  if (functionName.length > MAX_NAME_CHARS) return `\`functionName\` has more than ${MAX_NAME_CHARS} characters`;
  if (expectsResponse === undefined || typeof expectsResponse === 'boolean') return undefined;
  return `\`expectsResponse\` is ${kindOf(expectsResponse)} instead of a boolean`;
}

function isMap(value: WireValue): value is WireMap {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);
}

function kindOf(value: WireValue | undefined): string {
  if (value === undefined) return 'missing';
  if (value === null) return 'nil';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof Uint8Array) return 'binary';
  if (typeof value === 'number') return `the number ${value}`;
  return typeof value === 'object' ? 'a map' : `a ${typeof value}`;
}

// Keys go out in the order that the published client uses, so that equal messages are equal bytes.

/** Makes a FunctionCall; `params` of `undefined` are left out. */
export function functionCall(id: string, functionName: string, params: unknown): OutgoingMessage {
  return params === undefined ? { functionName, id, type: 0 } : { functionName, id, type: 0, params };
}

/** Makes a FunctionCall that is never answered. */
export function notification(id: string, functionName: string, params: unknown): OutgoingMessage {
  return params === undefined
    ? { functionName, id, type: 0, expectsResponse: false }
    : { functionName, id, type: 0, params, expectsResponse: false };
}

/** Makes a FunctionResponse; a `result` of `undefined` is left out. */
export function functionResponse(id: string, result: unknown): OutgoingMessage {
  return result === undefined ? { id, type: 1 } : { id, type: 1, result };
}

/** Makes a FunctionError. */
export function functionError(id: string, error: string): OutgoingMessage {
  return { error, id, type: 2 };
}

/** Makes a StreamChunk. A chunk of `undefined` has no place on the wire and becomes nil. */
export function streamChunk(id: string, chunk: unknown): OutgoingMessage {
  return { chunk: chunk === undefined ? null : chunk, id, type: 3 };
}

/** Makes a StreamEnd. */
export function streamEnd(id: string): OutgoingMessage {
  return { id, type: 4 };
}

/** Makes a StreamError. */
export function streamError(id: string, error: string): OutgoingMessage {
  return { error, id, type: 5 };
}

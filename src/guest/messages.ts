import { assertNamespace, type ProviderManifest, type ToolManifest } from '../capabilities/index.js';
import {
  DEFAULT_MAX_LOG_CHARS,
  DEFAULT_MAX_LOG_LINES,
  DEFAULT_MEMORY_LIMIT_BYTES,
  DEFAULT_TIMEOUT_MS,
  MAX_CALL_ID_CHARS,
  MAX_LOG_CHARS,
  MAX_LOG_LINES,
  MAX_MANIFEST_TOOLS,
  MAX_MEMORY_LIMIT_BYTES,
  MAX_TIMEOUT_MS,
  MIN_MEMORY_LIMIT_BYTES,
} from './limits.js';

/** The public error codes of the protocol. */
export const EXECUTE_ERROR_CODES = [
  'timeout',
  'memory_limit',
  'validation_error',
  'tool_error',
  'runtime_error',
  'serialization_error',
  'internal_error',
] as const;

export type ExecuteErrorCode = (typeof EXECUTE_ERROR_CODES)[number];

const KNOWN_CODES: ReadonlySet<string> = new Set(EXECUTE_ERROR_CODES);

/** Tells whether a code from the wire is one of the protocol. */
export function isExecuteErrorCode(code: unknown): code is ExecuteErrorCode {
  return typeof code === 'string' && KNOWN_CODES.has(code);
}

/** Why an execution failed. Beyond code and message the fields are ours; other peers ignore them. */
export interface ExecuteError {
  readonly code: ExecuteErrorCode;
  readonly message: string;
  /** Where in the author's source, from 1. */
  readonly line?: number;
  readonly column?: number;
  /** The author's frames of the stack, innermost first. */
  readonly stack?: string;
}

/** The limits that travel with an execution. */
export interface ExecutorRuntimeOptions {
  readonly timeoutMs: number;
  readonly memoryLimitBytes: number;
  readonly maxLogLines: number;
  readonly maxLogChars: number;
  /** Ours: asks the runner for a `log` message per line, as it comes. */
  readonly streamLogs?: boolean;
}

export interface ExecuteMessage {
  readonly type: 'execute';
  readonly id: string;
  readonly code: string;
  readonly options: ExecutorRuntimeOptions;
  readonly providers: readonly ProviderManifest[];
}

export interface CancelMessage {
  readonly type: 'cancel';
  readonly id: string;
}

export type ToolResultMessage =
  | { readonly type: 'tool_result'; readonly callId: string; readonly ok: true; readonly result?: unknown }
  | {
      readonly type: 'tool_result';
      readonly callId: string;
      readonly ok: false;
      readonly error: { readonly code: string; readonly message: string };
    };

export interface StartedMessage {
  readonly type: 'started';
  readonly id: string;
}

export interface ToolCallMessage {
  readonly type: 'tool_call';
  readonly callId: string;
  readonly providerName: string;
  readonly safeToolName: string;
  readonly input?: unknown;
}

export type DoneMessage = { readonly type: 'done'; readonly id: string } & ExecuteResult;

/** Ours, and only where `streamLogs` asked for it. */
export interface LogMessage {
  readonly type: 'log';
  readonly id: string;
  readonly line: string;
}

export type HostMessage = ExecuteMessage | CancelMessage | ToolResultMessage;
export type RunnerMessage = StartedMessage | ToolCallMessage | DoneMessage | LogMessage;

/** How an execution ended. */
export type ExecuteResult =
  | { readonly ok: true; readonly result?: unknown; readonly logs: readonly string[]; readonly durationMs: number }
  | { readonly ok: false; readonly error: ExecuteError; readonly logs: readonly string[]; readonly durationMs: number };

/** A message of the protocol, or what is wrong with it. `id` is there when the sender can be answered. */
export type Parsed<T> =
  | { readonly ok: true; readonly message: T }
  | { readonly ok: false; readonly id?: string; readonly reason: string };

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
}

const shown = (value: unknown): string =>
  typeof value === 'string'
    ? JSON.stringify(value.slice(0, 40))
    : Array.isArray(value)
      ? 'an array'
      : value === null
        ? 'null'
        : typeof value;

/** Checks a message that a host sent to a runner. */
export function parseHostMessage(value: unknown): Parsed<HostMessage> {
  const fields = fieldsOf(value);
  if (!fields) return { ok: false, reason: `a message must be an object, not ${shown(value)}` };
  switch (fields['type']) {
    case 'execute':
      return parseExecute(fields);
    case 'cancel':
      return typeof fields['id'] === 'string'
        ? { ok: true, message: { type: 'cancel', id: fields['id'] } }
        : { ok: false, reason: 'cancel.id must be a string' };
    case 'tool_result':
      return parseToolResult(fields);
    default:
      return { ok: false, reason: `unknown message type ${shown(fields['type'])}` };
  }
}

function parseExecute(fields: Fields): Parsed<ExecuteMessage> {
  const { id, code } = fields;
  if (typeof id !== 'string') return { ok: false, reason: 'execute.id must be a string' };
  if (typeof code !== 'string') return { ok: false, id, reason: `execute.code must be a string, not ${shown(code)}` };
  const options = parseOptions(fields['options']);
  if (typeof options === 'string') return { ok: false, id, reason: options };
  const providers = parseProviders(fields['providers']);
  if (typeof providers === 'string') return { ok: false, id, reason: providers };
  return { ok: true, message: { type: 'execute', id, code, options, providers } };
}

interface Range {
  readonly fallback: number;
  readonly min: number;
  readonly max: number;
}

/** The numeric options, their defaults and what they may be. */
export const OPTION_RANGES: Readonly<Record<'timeoutMs' | 'memoryLimitBytes' | 'maxLogLines' | 'maxLogChars', Range>> =
  {
    timeoutMs: { fallback: DEFAULT_TIMEOUT_MS, min: 1, max: MAX_TIMEOUT_MS },
    memoryLimitBytes: {
      fallback: DEFAULT_MEMORY_LIMIT_BYTES,
      min: MIN_MEMORY_LIMIT_BYTES,
      max: MAX_MEMORY_LIMIT_BYTES,
    },
    maxLogLines: { fallback: DEFAULT_MAX_LOG_LINES, min: 0, max: MAX_LOG_LINES },
    maxLogChars: { fallback: DEFAULT_MAX_LOG_CHARS, min: 0, max: MAX_LOG_CHARS },
  };

/** Fills in defaults and checks ranges. Returns the complaint as text. */
export function parseOptions(value: unknown): ExecutorRuntimeOptions | string {
  const fields = value === undefined ? {} : fieldsOf(value);
  if (!fields) return `execute.options must be an object, not ${shown(value)}`;
  const numbers: Record<string, number> = {};
  for (const [name, { fallback, min, max }] of Object.entries(OPTION_RANGES)) {
    const given = fields[name] ?? fallback;
    if (typeof given !== 'number' || !(given >= min && given <= max)) {
      const said = typeof given === 'number' ? String(given) : shown(given);
      return `execute.options.${name} must be a number from ${min} to ${max}, not ${said}`;
    }
    // A fraction of a millisecond, byte or line means nothing to anybody.
    numbers[name] = Math.max(min, Math.floor(given));
  }
  const { timeoutMs = 0, memoryLimitBytes = 0, maxLogLines = 0, maxLogChars = 0 } = numbers;
  const streamLogs = fields['streamLogs'] === true;
  return { timeoutMs, memoryLimitBytes, maxLogLines, maxLogChars, ...(streamLogs ? { streamLogs } : {}) };
}

function parseProviders(value: unknown): ProviderManifest[] | string {
  if (value === undefined) return [];
  if (!Array.isArray(value)) return `execute.providers must be an array, not ${shown(value)}`;
  const manifests: ProviderManifest[] = [];
  const names = new Set<string>();
  let count = 0;
  for (const [index, item] of value.entries()) {
    const at = `execute.providers[${index}]`;
    const fields = fieldsOf(item);
    const name = fields?.['name'];
    if (!fields || typeof name !== 'string') return `${at}.name must be a string`;
    const complaint = namespaceComplaint(name);
    if (complaint !== undefined) return `${at}.name: ${complaint}`;
    if (names.has(name)) return `${at}.name: ${shown(name)} is there twice`;
    names.add(name);
    const tools = parseTools(fields['tools'], `${at}.tools`);
    if (typeof tools === 'string') return tools;
    count += tools.length;
    if (count > MAX_MANIFEST_TOOLS) return `execute.providers: more than ${MAX_MANIFEST_TOOLS} tools`;
    const types = fields['types'];
    if (types !== undefined && typeof types !== 'string') return `${at}.types must be a string`;
    manifests.push({ name, tools: Object.fromEntries(tools.map((tool) => [tool.safeName, tool])), types: types ?? '' });
  }
  return manifests;
}

function namespaceComplaint(name: string): string | undefined {
  try {
    assertNamespace(name);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** Tools appear under their `safeName`, whatever the key of the record is. */
function parseTools(value: unknown, at: string): ToolManifest[] | string {
  const fields = fieldsOf(value);
  if (!fields) return `${at} must be an object, not ${shown(value)}`;
  const tools = new Map<string, ToolManifest>();
  for (const [key, item] of Object.entries(fields)) {
    const where = `${at}[${JSON.stringify(key.slice(0, 40))}]`;
    const tool = fieldsOf(item);
    const safeName = tool?.['safeName'];
    if (typeof safeName !== 'string' || !/^[A-Za-z_$][A-Za-z0-9_$]{0,255}$/.test(safeName)) {
      return `${where}.safeName must be an identifier, not ${shown(safeName)}`;
    }
    if (tools.has(safeName)) return `${where}.safeName: ${shown(safeName)} is there twice`;
    const { originalName = safeName, description } = tool ?? {};
    if (typeof originalName !== 'string') return `${where}.originalName must be a string`;
    if (description !== undefined && typeof description !== 'string') return `${where}.description must be a string`;
    tools.set(safeName, { safeName, originalName, ...(description === undefined ? {} : { description }) });
  }
  return [...tools.values()];
}

function parseToolResult(fields: Fields): Parsed<ToolResultMessage> {
  const { callId, ok } = fields;
  if (typeof callId !== 'string') return { ok: false, reason: 'tool_result.callId must be a string' };
  if (ok === true) {
    // Over JSON an undefined result is an absent one.
    return { ok: true, message: { type: 'tool_result', callId, ok, result: fields['result'] } };
  }
  if (ok !== false) return { ok: false, reason: `tool_result.ok must be a boolean, not ${shown(ok)}` };
  const error = fieldsOf(fields['error']);
  if (!error || typeof error['code'] !== 'string' || typeof error['message'] !== 'string') {
    return { ok: false, reason: 'tool_result.error must have a code and a message' };
  }
  return {
    ok: true,
    message: { type: 'tool_result', callId, ok, error: { code: error['code'], message: error['message'] } },
  };
}

/** Checks a message that a runner sent to a host. A runner is less trusted: what does not fit is said, not repaired. */
export function parseRunnerMessage(value: unknown): Parsed<RunnerMessage> {
  const fields = fieldsOf(value);
  if (!fields) return { ok: false, reason: `a message must be an object, not ${shown(value)}` };
  const { type, id } = fields;
  switch (type) {
    case 'started':
      return typeof id === 'string'
        ? { ok: true, message: { type, id } }
        : { ok: false, reason: 'started.id must be a string' };
    case 'log':
      return typeof id === 'string' && typeof fields['line'] === 'string'
        ? { ok: true, message: { type, id, line: fields['line'] } }
        : { ok: false, reason: 'log must have an id and a line' };
    case 'tool_call':
      return parseToolCall(fields);
    case 'done':
      return parseDone(fields);
    default:
      return { ok: false, reason: `unknown message type ${shown(type)}` };
  }
}

function parseToolCall(fields: Fields): Parsed<ToolCallMessage> {
  const { callId, providerName, safeToolName, input } = fields;
  for (const [name, value] of Object.entries({ callId, providerName, safeToolName })) {
    if (typeof value !== 'string')
      return { ok: false, reason: `tool_call.${name} must be a string, not ${shown(value)}` };
  }
  if (String(callId).length > MAX_CALL_ID_CHARS) {
    return { ok: false, reason: `tool_call.callId has more than ${MAX_CALL_ID_CHARS} characters` };
  }
  return {
    ok: true,
    message: {
      type: 'tool_call',
      callId: String(callId),
      providerName: String(providerName),
      safeToolName: String(safeToolName),
      input,
    },
  };
}

function parseDone(fields: Fields): Parsed<DoneMessage> {
  const { id, ok, durationMs } = fields;
  if (typeof id !== 'string') return { ok: false, reason: 'done.id must be a string' };
  const bad = (reason: string): Parsed<DoneMessage> => ({ ok: false, id, reason: `done.${reason}` });
  if (typeof durationMs !== 'number' || !(durationMs >= 0)) return bad('durationMs must be a number of at least 0');
  const logs = fields['logs'];
  if (!Array.isArray(logs) || !logs.every((line) => typeof line === 'string'))
    return bad('logs must be an array of strings');
  if (ok === true) {
    if (fields['error'] !== undefined) return bad('error must be absent when ok is true');
    return { ok: true, message: { type: 'done', id, ok, durationMs, logs, result: fields['result'] } };
  }
  if (ok !== false) return bad(`ok must be a boolean, not ${shown(ok)}`);
  if (fields['result'] !== undefined) return bad('result must be absent when ok is false');
  const error = parseError(fields['error']);
  if (typeof error === 'string') return bad(error);
  return { ok: true, message: { type: 'done', id, ok, durationMs, logs, error } };
}

function parseError(value: unknown): ExecuteError | string {
  const fields = fieldsOf(value);
  if (!fields) return 'error must be there when ok is false';
  const { code, message, line, column, stack } = fields;
  if (!isExecuteErrorCode(code)) return `error.code ${shown(code)} is not a code of the protocol`;
  if (typeof message !== 'string') return `error.message must be a string, not ${shown(message)}`;
  return {
    code,
    message,
    ...(typeof line === 'number' ? { line } : {}),
    ...(typeof column === 'number' ? { column } : {}),
    ...(typeof stack === 'string' ? { stack } : {}),
  };
}

import { isUtf8 } from 'node:buffer';
import { SallyportError } from '../errors/index.js';
import { DEPTH_CEILING, MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_VALUES } from './limits.js';
import { printable } from './printable.js';

/** What one document may cost. Each part is charged before anything is allocated for it. */
export interface JsonBudget {
  /** Bytes of the encoded document. */
  readonly bytes: number;
  /** How deep arrays and objects may nest. At most 512. */
  readonly depth: number;
  /** How many values the document may hold, containers included. */
  readonly values: number;
}

export const DEFAULT_JSON_BUDGET: JsonBudget = { bytes: MAX_MESSAGE_BYTES, depth: MAX_DEPTH, values: MAX_VALUES };

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const SPACE = 0x20;
/** Braces differ from brackets in this one bit. */
const BRACE_TO_BRACKET = ~0x20;

/** Parses UTF-8 JSON bytes within a budget. Throws a `SallyportError` for anything that is not exactly one document. */
export function decodeJson(bytes: Uint8Array, budget: Partial<JsonBudget> = {}): unknown {
  const limit = budget.bytes ?? DEFAULT_JSON_BUDGET.bytes;
  if (bytes.byteLength > limit) throw overBytes(bytes.byteLength, limit);
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString();
  // Bytes that are no UTF-8 decode to replacement characters, so only a text that has one needs a second look.
  if (text.includes('\ufffd') && !isUtf8(buffer))
    throw new SallyportError('WIRE_UTF8', 'the message is not valid UTF-8');
  return parseText(text, budget);
}

/** Parses JSON text within a budget. */
export function parseJson(text: string, budget: Partial<JsonBudget> = {}): unknown {
  const limit = budget.bytes ?? DEFAULT_JSON_BUDGET.bytes;
  // A UTF-16 unit is at most three bytes, so only texts near the limit need to be measured.
  if (text.length > limit || (text.length * 3 > limit && Buffer.byteLength(text) > limit)) {
    throw overBytes(Math.max(text.length, limit + 1), limit);
  }
  return parseText(text, budget);
}

function parseText(text: string, budget: Partial<JsonBudget>): unknown {
  const depth = Math.min(budget.depth ?? DEFAULT_JSON_BUDGET.depth, DEPTH_CEILING);
  const keys = scan(text, depth, budget.values ?? DEFAULT_JSON_BUDGET.values);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SallyportError('WIRE_SYNTAX', `not valid JSON: ${printable(reason, 200)}`);
  }
  // The parser keeps the last of two equal keys, so a document with a duplicate has fewer keys than its text.
  if (keys > 1 && countKeys(value) !== keys) {
    throw new SallyportError('WIRE_DUPLICATE_KEY', 'an object has the same key twice');
  }
  return value;
}

/**
 * Walks the text once, without building anything: charges depth and values, and returns how many keys it has. For text
 * that is not JSON the figures mean nothing, but the parser then refuses it anyway.
 */
function scan(text: string, maxDepth: number, maxValues: number): number {
  let depth = 0;
  let values = 1;
  let keys = 0;
  // Whether a container was opened and nothing has been seen in it: its first child is counted when it is.
  let opened = false;
  const length = text.length;
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === QUOTE) {
      index = endOfString(text, index);
    } else if (unit === COLON) {
      keys += 1;
      continue;
    } else if (unit === COMMA) {
      values += 1;
      if (values > maxValues) throw overValues(maxValues);
      continue;
    } else if (unit <= SPACE) {
      continue;
    } else {
      const bracket = unit & BRACE_TO_BRACKET;
      if (bracket === CLOSE_BRACKET) {
        depth -= 1;
        opened = false;
        continue;
      }
      if (bracket === OPEN_BRACKET) {
        depth += 1;
        if (depth > maxDepth) {
          throw new SallyportError('WIRE_BUDGET_DEPTH', `nested deeper than ${maxDepth} levels`, { limit: maxDepth });
        }
        if (opened) values += 1;
        opened = true;
        continue;
      }
    }
    if (opened) {
      values += 1;
      opened = false;
    }
  }
  if (values > maxValues) throw overValues(maxValues);
  return keys;
}

/** Strings up to this length are walked; the search for the end of longer ones is the engine's. */
const SHORT_STRING = 24;

function endOfString(text: string, start: number): number {
  const walked = Math.min(text.length, start + SHORT_STRING);
  for (let at = start + 1; at < walked; at += 1) {
    const unit = text.charCodeAt(at);
    if (unit === QUOTE) return at;
    if (unit === BACKSLASH) break;
  }
  let end = start;
  for (;;) {
    end = text.indexOf('"', end + 1);
    if (end === -1) return text.length;
    let before = end - 1;
    while (before > start && text.charCodeAt(before) === BACKSLASH) before -= 1;
    if ((end - before) % 2 === 1) return end;
  }
}

/** Counts the keys of all objects. The depth was charged before, so recursion is bounded. */
function countKeys(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === 'object') count += countKeys(item);
    return count;
  }
  // The parser's objects have own properties only, and this is the one loop that makes no array of them.
  for (const key in value) {
    count += 1;
    const child = (value as Readonly<Record<string, unknown>>)[key];
    if (typeof child === 'object') count += countKeys(child);
  }
  return count;
}

function overBytes(actual: number, limit: number): SallyportError {
  return new SallyportError('WIRE_BUDGET_BYTES', `the message has ${actual} bytes, more than ${limit}`, {
    actual,
    limit,
  });
}

function overValues(limit: number): SallyportError {
  return new SallyportError('WIRE_BUDGET_VALUES', `the message holds more than ${limit} values`, { limit });
}

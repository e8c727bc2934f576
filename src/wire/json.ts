import { isAscii, isUtf8 } from 'node:buffer';
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
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** Parses UTF-8 JSON bytes within a budget. Throws a `SallyportError` for anything that is not exactly one document. */
export function decodeJson(bytes: Uint8Array, budget: Partial<JsonBudget> = {}): unknown {
  const limit = budget.bytes ?? DEFAULT_JSON_BUDGET.bytes;
  if (bytes.byteLength > limit) throw overBytes(bytes.byteLength, limit);
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (isAscii(buffer)) return parseText(buffer.toString('latin1'), budget);
  if (!isUtf8(buffer)) throw new SallyportError('WIRE_UTF8', 'the message is not valid UTF-8');
  return parseText(buffer.toString('utf8'), budget);
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
  let opened = false;
  const length = text.length;
  for (let index = 0; index < length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit <= SPACE) continue;
    switch (unit) {
      case QUOTE:
        index = endOfString(text, index);
        break;
      case COMMA:
        values += 1;
        break;
      case COLON:
        keys += 1;
        continue;
      case OPEN_BRACE:
      case OPEN_BRACKET:
        // The first child of the enclosing container is counted when it is seen, an opening one too.
        if (opened) values += 1;
        depth += 1;
        if (depth > maxDepth) {
          throw new SallyportError('WIRE_BUDGET_DEPTH', `nested deeper than ${maxDepth} levels`, { limit: maxDepth });
        }
        opened = true;
        continue;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        depth -= 1;
        opened = false;
        continue;
      default:
        break;
    }
    if (opened) {
      values += 1;
      opened = false;
    }
    if (values > maxValues) throw overValues(maxValues);
  }
  if (values > maxValues) throw overValues(maxValues);
  return keys;
}

function endOfString(text: string, start: number): number {
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
    for (const item of value) {
      if (typeof item === 'object') count += countKeys(item);
    }
    return count;
  }
  const children = Object.values(value);
  count = children.length;
  for (const child of children) {
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

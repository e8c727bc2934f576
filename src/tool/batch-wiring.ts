import { failure } from './failure.js';
import { exceedsJsonBytes } from './json-bytes.js';

type Json = unknown;
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

interface Reference {
  readonly from: string;
  readonly path: string;
}

function referenceOf(value: Json): Reference | undefined {
  if (!isObject(value) || typeof value['$from'] !== 'string') return undefined;
  const keys = Object.keys(value);
  if (keys.some((key) => key !== '$from' && key !== 'path')) return undefined;
  const path = value['path'] ?? '';
  return typeof path === 'string' ? { from: value['$from'], path } : undefined;
}

/** Lists the items that parameters take something from. */
export function referencesIn(value: Json, found: Set<string> = new Set()): Set<string> {
  const reference = referenceOf(value);
  if (reference !== undefined) found.add(reference.from);
  else if (Array.isArray(value)) for (const item of value) referencesIn(item, found);
  else if (isObject(value)) for (const item of Object.values(value)) referencesIn(item, found);
  return found;
}

/** Follows a JSON Pointer (RFC 6901) through own properties. */
export function pointed(value: Json, pointer: string): { readonly found: boolean; readonly value: Json } {
  if (pointer === '') return { found: true, value };
  if (!pointer.startsWith('/')) return { found: false, value: undefined };
  let current = value;
  for (const step of pointer.slice(1).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key))
      return { found: false, value: undefined };
    if (Array.isArray(current) && !/^(0|[1-9]\d*)$/.test(key)) return { found: false, value: undefined };
    current = Reflect.get(current, key);
  }
  return { found: true, value: current };
}

/** Puts outputs where parameters ask for them. Throws INVALID_REQUEST when an output has no such place, or all is too large. */
export function wire(value: Json, outputs: ReadonlyMap<string, Json>, maxBytes: number): Json {
  const wired = place(value, outputs);
  if (!exceedsJsonBytes(wired, maxBytes)) return wired;
  throw failure('INVALID_REQUEST', `params: with the outputs of other items they have more than ${maxBytes} bytes`, {
    field: 'params',
    limit: 'maxWiredBytes',
  });
}

function place(value: Json, outputs: ReadonlyMap<string, Json>): Json {
  const reference = referenceOf(value);
  if (reference !== undefined) {
    const { found, value: target } = pointed(outputs.get(reference.from), reference.path);
    if (found) return target;
    throw failure(
      'INVALID_REQUEST',
      `params: the output of ${JSON.stringify(reference.from)} has nothing at ${JSON.stringify(reference.path)}`,
      { field: 'params' },
    );
  }
  if (Array.isArray(value)) return value.map((item) => place(item, outputs));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, place(item, outputs)]));
  return value;
}

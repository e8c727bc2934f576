import { Buffer } from 'node:buffer';
import { types } from 'node:util';

/*
 * Turns what a tool returned into JSON. It runs in the tool's own realm, where every prototype may have been changed by
 * now, so all that is needed was taken aside when this module was loaded, before any of the tool's code.
 */

/** A value that has no JSON form. */
export class NotSerializableError extends Error {
  override readonly name = 'NotSerializableError';
}

export interface SerializeLimits {
  readonly maxBytes: number;
  readonly maxDepth: number;
}

type AnyFunction = (...args: never[]) => unknown;
const uncurry =
  (method: AnyFunction) =>
  (self: unknown, ...args: unknown[]): unknown =>
    reflectApply(method, self, args);
const { apply: reflectApply, ownKeys } = Reflect;
const quote = JSON.stringify;
const { isArray } = Array;
const { isFinite: isFiniteNumber } = Number;
const { getOwnPropertyDescriptor } = Object;
const {
  isDate,
  isMap,
  isSet,
  isTypedArray,
  isDataView,
  isAnyArrayBuffer,
  isBoxedPrimitive,
  isNativeError,
  isRegExp,
  isSymbolObject,
} = types;
const toText = String;
const ErrorClass = NotSerializableError;
const dateToISOString = uncurry(Date.prototype.toISOString);
const dateGetTime = uncurry(Date.prototype.getTime);
const mapForEach = uncurry(Map.prototype.forEach);
const setForEach = uncurry(Set.prototype.forEach);
const bufferFrom = Buffer.from;
const bufferToString = uncurry(Buffer.prototype.toString);
const bufferByteLength = Buffer.byteLength;
const regExpToString = uncurry(RegExp.prototype.toString);
const includes = uncurry(Array.prototype.includes);
const push = uncurry(Array.prototype.push);
const pop = uncurry(Array.prototype.pop);

interface Walk {
  readonly limits: SerializeLimits;
  readonly open: object[];
  bytes: number;
}

function charge(walk: Walk, text: string): string {
  walk.bytes += bufferByteLength(text);
  if (walk.bytes > walk.limits.maxBytes) {
    throw new ErrorClass(`the output is not serializable: it has more than ${walk.limits.maxBytes} bytes`);
  }
  return text;
}

function bytesOf(value: ArrayBuffer | SharedArrayBuffer | ArrayBufferView): string {
  const buffer =
    'buffer' in value && !isAnyArrayBuffer(value)
      ? bufferFrom(value.buffer, value.byteOffset, value.byteLength)
      : bufferFrom(value as ArrayBuffer);
  return quote(bufferToString(buffer, 'base64'));
}

function list(walk: Walk, items: readonly unknown[], path: string): string {
  let text = '[';
  for (let index = 0; index < items.length; index += 1) {
    const item = write(walk, items[index], `${path}[${index}]`);
    text += (index === 0 ? '' : charge(walk, ',')) + (item ?? charge(walk, 'null'));
  }
  return `${text}]`;
}

function entries(walk: Walk, pairs: readonly (readonly [string, unknown])[], path: string): string {
  let text = '{';
  let first = true;
  for (let index = 0; index < pairs.length; index += 1) {
    const pair = pairs[index];
    if (pair === undefined) continue;
    const value = write(walk, pair[1], `${path}.${pair[0]}`);
    if (value === undefined) continue;
    text += charge(walk, `${first ? '' : ','}${quote(pair[0])}:`) + value;
    first = false;
  }
  return `${text}}`;
}

function ownPairs(value: object): [string, unknown][] {
  const pairs: [string, unknown][] = [];
  const keys = ownKeys(value);
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index];
    if (typeof key !== 'string') continue;
    if (getOwnPropertyDescriptor(value, key)?.enumerable !== true) continue;
    push(pairs, [key, (value as Record<string, unknown>)[key]]);
  }
  return pairs;
}

function mapForm(walk: Walk, map: object, path: string): string {
  const pairs: [unknown, unknown][] = [];
  let named = true;
  mapForEach(map, (value: unknown, key: unknown) => {
    if (typeof key !== 'string') named = false;
    push(pairs, [key, value]);
  });
  return named ? entries(walk, pairs as [string, unknown][], path) : list(walk, pairs, path);
}

function errorForm(walk: Walk, error: Error, path: string): string {
  const pairs: [string, unknown][] = [
    ['name', toText(error.name)],
    ['message', toText(error.message)],
  ];
  const own = ownPairs(error);
  for (let index = 0; index < own.length; index += 1) {
    const pair = own[index];
    if (pair !== undefined && pair[0] !== 'name' && pair[0] !== 'message' && pair[0] !== 'stack') push(pairs, pair);
  }
  return entries(walk, pairs, path);
}

function objectForm(walk: Walk, value: object, path: string): string | undefined {
  if (isDate(value)) {
    const time = dateGetTime(value);
    return charge(walk, isFiniteNumber(time) ? quote(dateToISOString(value)) : 'null');
  }
  if (isTypedArray(value) || isDataView(value) || isAnyArrayBuffer(value)) return charge(walk, bytesOf(value));
  if (isMap(value)) return mapForm(walk, value, path);
  if (isSet(value)) {
    const items: unknown[] = [];
    setForEach(value, (item: unknown) => push(items, item));
    return list(walk, items, path);
  }
  if (isRegExp(value)) return charge(walk, quote(regExpToString(value) as string));
  if (isBoxedPrimitive(value))
    return isSymbolObject(value) ? undefined : write(walk, (value as { valueOf(): unknown }).valueOf(), path);
  const own = value as { toJSON?: unknown };
  if (typeof own.toJSON === 'function' && !isArray(value)) {
    const replaced: unknown = reflectApply(own.toJSON as AnyFunction, value, ['']);
    if (replaced !== value) return write(walk, replaced, path);
  }
  if (isArray(value)) return list(walk, value, path);
  if (isNativeError(value)) return errorForm(walk, value as Error, path);
  return entries(walk, ownPairs(value), path);
}

function write(walk: Walk, value: unknown, path: string): string | undefined {
  switch (typeof value) {
    case 'string':
      return charge(walk, quote(value));
    case 'number':
      return charge(walk, isFiniteNumber(value) ? toText(value) : 'null');
    case 'boolean':
      return charge(walk, value ? 'true' : 'false');
    case 'bigint':
      return charge(walk, `"${toText(value)}"`);
    case 'object':
      break;
    default:
      return undefined;
  }
  if (value === null) return charge(walk, 'null');
  if (includes(walk.open, value))
    throw new ErrorClass(`the output is not serializable: ${path} refers back to an object around it`);
  if (walk.open.length >= walk.limits.maxDepth) {
    throw new ErrorClass(`the output is not serializable: it nests deeper than ${walk.limits.maxDepth} levels`);
  }
  push(walk.open, value);
  const text = objectForm(walk, value, path);
  pop(walk.open);
  charge(walk, '{}');
  return text;
}

/** Writes a value as JSON; what JSON knows nothing of, on its own, is `null`. Throws NotSerializableError. */
export function serialize(value: unknown, limits: SerializeLimits): string {
  return write({ limits, open: [], bytes: 0 }, value, 'output') ?? 'null';
}

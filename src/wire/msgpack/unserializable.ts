import { types } from 'node:util';
import { SallyportError } from '../../errors/index.js';

/** One offence: where it is and what is wrong. */
interface Offence {
  readonly path: string;
  readonly problem: string;
}

const MAX_SHOWN_KEY = 64;

/** Makes the error for a value that cannot be encoded: walks it again, slowly, to name the path of the first offender. */
export function notSerializable(value: unknown, depthLimit: number, hint: string): SallyportError {
  const { path, problem } = find(value, '$', [], depthLimit) ?? { path: '$', problem: hint };
  return new SallyportError('VALUE_NOT_SERIALIZABLE', `Cannot send the value at ${path}: ${problem}`, { path });
}

function find(value: unknown, path: string, ancestors: readonly object[], depthLimit: number): Offence | undefined {
  const problem = problemOf(value, path);
  if (problem !== undefined) return { path, problem };
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return undefined;
  if (ancestors.includes(value)) return { path, problem: 'it contains itself' };
  if (ancestors.length >= depthLimit) return { path, problem: `it is nested deeper than ${depthLimit}` };
  const inside = [...ancestors, value];
  if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      if (element === undefined) continue;
      const offence = find(element, `${path}[${index}]`, inside, depthLimit);
      if (offence !== undefined) return offence;
    }
    return undefined;
  }
  for (const [key, property] of Object.entries(value)) {
    if (!isWellFormed(key)) return { path: `${path}${step(key)}`, problem: 'its key has a lone surrogate' };
    if (property === undefined) continue;
    const offence = find(property, `${path}${step(key)}`, inside, depthLimit);
    if (offence !== undefined) return offence;
  }
  return undefined;
}

function problemOf(value: unknown, path: string): string | undefined {
  switch (typeof value) {
    case 'undefined':
      return path === '$' ? 'it is undefined' : undefined;
    case 'function':
    case 'symbol':
      return `it is a ${typeof value}`;
    case 'number':
      return Number.isFinite(value) ? undefined : `it is ${value}`;
    case 'bigint':
      return fitsIn64Bits(value) ? undefined : 'it is an integer of more than 64 bits';
    case 'object':
      return value === null || Array.isArray(value) || value instanceof Uint8Array || isPlainObject(value)
        ? undefined
        : `it is an instance of ${className(value)}`;
    default:
      return undefined;
  }
}

function className(value: object): string {
  const maker: unknown = Object.getPrototypeOf(value)?.constructor;
  return typeof maker === 'function' && maker.name !== '' ? maker.name : 'a class without a name';
}

function step(key: string): string {
  if (/^[A-Za-z_$][\w$]*$/.test(key) && key.length <= MAX_SHOWN_KEY) return `.${key}`;
  return `[${JSON.stringify(key.length > MAX_SHOWN_KEY ? `${key.slice(0, MAX_SHOWN_KEY)}…` : key)}]`;
}

/** Tells whether a string is free of lone surrogates, which UTF-8 has no bytes for. */
export function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text);
}

export function fitsIn64Bits(value: bigint): boolean {
  return BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value;
}

/** Tells objects from object literals, `JSON.parse` or `Object.create(null)`, also of another realm, from class instances. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  if (typeof prototype !== 'object' || types.isProxy(prototype)) return false;
  // The prototype of all objects of another realm: nothing above it, and it has what only that one has.
  return (
    Object.getPrototypeOf(prototype) === null &&
    Object.hasOwn(prototype, 'isPrototypeOf') &&
    Object.hasOwn(prototype, 'propertyIsEnumerable')
  );
}

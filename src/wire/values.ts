import { types } from 'node:util';
import { DEPTH_CEILING, MAX_DEPTH, MAX_VALUE_BYTES, MAX_VALUES } from './limits.js';
import { isPlainObject } from './msgpack/unserializable.js';

/**
 * Transport-safe values as the runner specification defines them: one module that checks, names the path of the first
 * offender, and is used by every boundary.
 *
 * Nothing here runs code of the value: properties are read through descriptors, proxies are recognised before they are
 * touched, and labels come from internal slots or data properties.
 */

const BYTES_PER_VALUE = 8;
const MAX_KEY_CHARS_IN_PATH = 64;
const MAX_PATH_CHARS = 256;
const ALLOWED = 'send null, booleans, strings, finite numbers, arrays and plain objects only';
const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

export type TransportValue = null | boolean | number | string | TransportValue[] | { [key: string]: TransportValue };

export interface ValueLimits {
  /** Levels of arrays and objects (default 64, at most 512). */
  readonly depth?: number;
  /** Values in all (default 256 Ki). */
  readonly values?: number;
  /** UTF-8 bytes of strings and keys, plus 8 for each value (default 16 MiB). */
  readonly bytes?: number;
}

export interface TransportSafeOptions {
  /** What the path starts with (default `value`). */
  readonly root?: string;
  readonly limits?: ValueLimits;
}

export type TransportSafeCheck =
  | { readonly ok: true; readonly value: TransportValue | undefined }
  | {
      readonly ok: false;
      /** Where the first offender is: `result.items[3].when`. */
      readonly path: string;
      /** What it is: `Date`, `cycle`, `more than 64 levels`. */
      readonly reason: string;
      /** Both, in one line for people. */
      readonly message: string;
    };

type Key = string | number;

/** Checks that a value can cross a boundary, and hands back a clean deep copy of it. */
export function checkTransportSafe(value: unknown, options: TransportSafeOptions = {}): TransportSafeCheck {
  if (value === undefined || value === null || typeof value === 'boolean') return { ok: true, value };
  const walk = new Walk(options.limits ?? {});
  const copy = walk.copy(value, 0);
  if (copy !== REFUSED) return { ok: true, value: copy };
  const path = formatPath(options.root ?? 'value', walk.keys);
  const hint = walk.overLimit ? '' : ` (${ALLOWED})`;
  return { ok: false, path, reason: walk.reason, message: `${path}: ${walk.reason}${hint}` };
}

/** Writes a path as JavaScript would: `input.items[3]["a b"]`. */
export function formatPath(root: string, keys: readonly Key[]): string {
  let path = root;
  for (const key of keys) {
    if (typeof key === 'number') path += `[${key}]`;
    else if (key.length <= MAX_KEY_CHARS_IN_PATH && IDENTIFIER.test(key)) path += `.${key}`;
    else path += `[${JSON.stringify(clip(key, MAX_KEY_CHARS_IN_PATH))}]`;
    if (path.length > MAX_PATH_CHARS) return `${path.slice(0, MAX_PATH_CHARS)}…`;
  }
  return path;
}

const REFUSED = Symbol('refused');

class Walk {
  /** The keys from the root to the value at hand; after a refusal, to the offender. */
  readonly keys: Key[] = [];
  reason = '';
  overLimit = false;
  readonly #ancestors: object[] = [];
  readonly #limits: Required<ValueLimits>;
  #values = 0;
  #bytes = 0;

  constructor(limits: ValueLimits) {
    const { depth = MAX_DEPTH, values = MAX_VALUES, bytes = MAX_VALUE_BYTES } = limits;
    this.#limits = { depth: Math.min(depth, DEPTH_CEILING), values, bytes };
  }

  copy(value: unknown, depth: number): TransportValue | typeof REFUSED {
    if (!this.#charge(typeof value === 'string' ? Buffer.byteLength(value) : 0)) return REFUSED;
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value;
      case 'number':
        // Adding zero turns -0 into 0 and leaves every other number as it is.
        return Number.isFinite(value) ? value + 0 : this.#refuse(String(value));
      case 'object':
        return value === null ? null : this.#copyObject(value, depth);
      default:
        return this.#refuse(types.isProxy(value) ? 'Proxy' : typeof value);
    }
  }

  #copyObject(value: object, depth: number): TransportValue | typeof REFUSED {
    if (types.isProxy(value)) return this.#refuse('Proxy');
    const isArray = Array.isArray(value);
    if (isArray ? !isPlainArray(value) : !isPlainObject(value)) return this.#refuse(labelOf(value));
    if (this.#ancestors.includes(value)) return this.#refuse('cycle');
    if (depth >= this.#limits.depth) return this.#refuseOver(`more than ${this.#limits.depth} levels`);
    this.#ancestors.push(value);
    const copy = isArray ? this.#copyArray(value, depth) : this.#copyRecord(value, depth);
    this.#ancestors.pop();
    return copy;
  }

  #copyArray(value: readonly unknown[], depth: number): TransportValue[] | typeof REFUSED {
    const copy: TransportValue[] = [];
    const { length } = value;
    for (let index = 0; index < length; index += 1) {
      this.keys.push(index);
      const property = Object.getOwnPropertyDescriptor(value, index);
      if (property === undefined) return this.#refuse('hole in a sparse array');
      if (!('value' in property)) return this.#refuse('accessor property');
      if (property.value === undefined) return this.#refuse('undefined array element');
      const item = this.copy(property.value, depth + 1);
      if (item === REFUSED) return REFUSED;
      copy.push(item);
      this.keys.pop();
    }
    return copy;
  }

  #copyRecord(value: object, depth: number): { [key: string]: TransportValue } | typeof REFUSED {
    for (const symbol of Object.getOwnPropertySymbols(value)) {
      if (Object.prototype.propertyIsEnumerable.call(value, symbol)) return this.#refuse('symbol key');
    }
    const copy: { [key: string]: TransportValue } = {};
    for (const key of Object.keys(value)) {
      this.keys.push(key);
      this.#bytes += Buffer.byteLength(key);
      const property = Object.getOwnPropertyDescriptor(value, key);
      if (property === undefined || !('value' in property)) return this.#refuse('accessor property');
      if (property.value === undefined) {
        // Dropped from the copy, yet charged, so that the walk itself stays within the budget.
        if (!this.#charge(0)) return REFUSED;
        this.keys.pop();
        continue;
      }
      const item = this.copy(property.value, depth + 1);
      if (item === REFUSED) return REFUSED;
      if (key === '__proto__') defineOwn(copy, key, item);
      else copy[key] = item;
      this.keys.pop();
    }
    return copy;
  }

  /** Counts one value and its text against the budget. */
  #charge(textBytes: number): boolean {
    this.#values += 1;
    this.#bytes += BYTES_PER_VALUE + textBytes;
    if (this.#values > this.#limits.values) this.#refuseOver(`more than ${this.#limits.values} values`);
    else if (this.#bytes > this.#limits.bytes) this.#refuseOver(`more than ${this.#limits.bytes} bytes`);
    return !this.overLimit;
  }

  #refuse(reason: string): typeof REFUSED {
    this.reason = reason;
    return REFUSED;
  }

  #refuseOver(reason: string): typeof REFUSED {
    this.overLimit = true;
    return this.#refuse(reason);
  }
}

/** Assigning to `__proto__` would set the prototype: it has to be defined. */
function defineOwn(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function isPlainArray(value: readonly unknown[]): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  // `Array.prototype` is itself an array, in every realm; the prototype of a subclass is not.
  return prototype === Array.prototype || (!types.isProxy(prototype) && Array.isArray(prototype));
}

const SLOTS: ReadonlyArray<readonly [(value: unknown) => boolean, string]> = [
  [types.isDate, 'Date'],
  [types.isMap, 'Map'],
  [types.isSet, 'Set'],
  [types.isPromise, 'Promise'],
  [types.isRegExp, 'RegExp'],
  [types.isNativeError, 'Error'],
  [types.isTypedArray, 'typed array'],
  [types.isDataView, 'DataView'],
  [types.isAnyArrayBuffer, 'ArrayBuffer'],
  [types.isWeakMap, 'WeakMap'],
  [types.isWeakSet, 'WeakSet'],
  [types.isBoxedPrimitive, 'boxed primitive'],
  [types.isGeneratorObject, 'generator'],
  [types.isModuleNamespaceObject, 'module namespace'],
  [types.isExternal, 'external'],
];

function slotLabel(value: object): string | undefined {
  for (const [test, label] of SLOTS) if (test(value)) return label;
  return undefined;
}

/** Names the kind of an object without running code of it: internal slots, else data properties of its prototype. */
function labelOf(value: object): string {
  const slot = slotLabel(value);
  if (slot !== undefined && slot !== 'Error' && slot !== 'typed array') return slot;
  const prototype: unknown = Object.getPrototypeOf(value);
  const name = dataProperty(dataProperty(prototype, 'constructor'), 'name');
  if (typeof name === 'string' && name !== '' && name !== 'Object') return clip(name, MAX_KEY_CHARS_IN_PATH);
  return slot ?? 'object with a prototype of its own';
}

function dataProperty(target: unknown, key: string): unknown {
  if ((typeof target !== 'object' && typeof target !== 'function') || target === null) return undefined;
  if (types.isProxy(target)) return undefined;
  return Object.getOwnPropertyDescriptor(target, key)?.value;
}

function clip(text: string, limit: number): string {
  return text.length <= limit ? text : `${text.slice(0, limit)}…`;
}

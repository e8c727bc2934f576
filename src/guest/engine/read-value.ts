import { MAX_DEPTH, MAX_VALUES } from '../../wire/index.js';
import { MAX_VALUE_CHARS } from '../limits.js';
import type { Pointer } from './guest-heap.js';
import type { GuestVm } from './guest-vm.js';

/** How much of a name is shown in a message. */
const MAX_NAME_CHARS = 100;

/** What reading one value out of a guest may cost. */
export interface ReadBudget {
  readonly depth: number;
  readonly values: number;
  /** UTF-16 units of all strings and keys. */
  readonly chars: number;
}

export const DEFAULT_READ_BUDGET: ReadBudget = { depth: MAX_DEPTH, values: MAX_VALUES, chars: MAX_VALUE_CHARS };

export type ReadResult =
  | {
      readonly ok: true;
      readonly value: unknown;
      /** UTF-16 units of its strings and keys. */
      readonly chars: number;
      /** How many values it consists of. */
      readonly values: number;
    }
  | { readonly ok: false; readonly reason: 'not-serializable' | 'no-memory'; readonly message: string };

/**
 * Copies a value out of a guest, if it is transport-safe. It looks at the heap from outside: no getter, trap, `toJSON` or
 * replaced intrinsic of the guest runs or matters.
 */
export function readValue(
  vm: GuestVm,
  ptr: Pointer,
  root: string,
  budget: ReadBudget = DEFAULT_READ_BUDGET,
): ReadResult {
  const reader = new Reader(vm, budget);
  try {
    const value = reader.read(ptr, 0);
    return { ok: true, value, chars: reader.chars, values: reader.values };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { ok: false, reason: error.reason, message: `${reader.path(root)}: ${error.message}` };
  }
}

class Refusal extends Error {
  readonly reason: 'not-serializable' | 'no-memory';

  constructor(message: string, reason: 'not-serializable' | 'no-memory' = 'not-serializable') {
    super(message);
    this.reason = reason;
  }
}

type Key = string | number | { readonly symbol: string };

class Reader {
  readonly #vm: GuestVm;
  readonly #budget: ReadBudget;
  /** The objects around the value that is read, and the keys that lead to it: a path is only written when it is needed. */
  readonly #around = new Set<number>();
  readonly #keys: Key[] = [];
  values = 0;
  chars = 0;

  constructor(vm: GuestVm, budget: ReadBudget) {
    this.#vm = vm;
    this.#budget = budget;
  }

  /** Where reading stopped. */
  path(root: string): string {
    return root + this.#keys.map(member).join('');
  }

  read(ptr: Pointer, depth: number): unknown {
    this.values += 1;
    if (this.values > this.#budget.values) throw this.#tooMany();
    const kind = this.#vm.kindOf(ptr);
    switch (kind) {
      case 'string':
        return this.#text(ptr);
      case 'number': {
        const value = this.#vm.numberOf(ptr);
        if (!Number.isFinite(value)) throw new Refusal(String(value));
        return value === 0 ? 0 : value;
      }
      case 'boolean':
        return this.#vm.booleanOf(ptr);
      case 'null':
        return null;
      case 'undefined':
        return undefined;
      case 'object':
        return this.#object(ptr, depth);
      default:
        throw new Refusal(kind);
    }
  }

  #text(ptr: Pointer): string {
    this.chars += this.#vm.stringLength(ptr);
    if (this.chars > this.#budget.chars) throw new Refusal(`more than ${this.#budget.chars} characters`);
    const text = this.#vm.stringOf(ptr);
    if (text === undefined) throw outOfMemory();
    return text;
  }

  #object(ptr: Pointer, depth: number): unknown {
    const vm = this.#vm;
    if (vm.isProxy(ptr)) throw new Refusal('Proxy');
    if (vm.isFunction(ptr)) throw new Refusal('function');
    if (depth >= this.#budget.depth) throw new Refusal(`nested deeper than ${this.#budget.depth} levels`);
    const identity = vm.identity(ptr);
    if (this.#around.has(identity)) throw new Refusal('cycle');
    const isArray = vm.isArray(ptr);
    this.#requirePlain(ptr, isArray ? 'arrayPrototype' : 'objectPrototype');
    this.#around.add(identity);
    const copy = isArray ? this.#array(ptr, depth) : this.#plain(ptr, depth);
    this.#around.delete(identity);
    return copy;
  }

  #requirePlain(ptr: Pointer, landmark: 'arrayPrototype' | 'objectPrototype'): void {
    const vm = this.#vm;
    if (!vm.isOfPlainClass(ptr)) throw new Refusal(vm.className(ptr));
    const prototype = vm.prototypeOf(ptr);
    if (prototype === undefined) {
      if (landmark === 'objectPrototype') return;
      throw new Refusal('array without a prototype');
    }
    const plain = vm.isLandmark(prototype, landmark);
    const name = plain
      ? ''
      : (dataNamed(vm, prototype, 'constructor', (maker) => dataText(vm, maker, 'name', MAX_NAME_CHARS)) ?? '');
    vm.free(prototype);
    if (!plain) throw new Refusal(name === '' ? 'class instance' : `instance of ${name}`);
  }

  #array(ptr: Pointer, depth: number): unknown[] {
    const vm = this.#vm;
    const length = vm.arrayLength(ptr);
    if (length > this.#budget.values) throw this.#tooMany();
    const copy: unknown[] = [];
    for (let index = 0; index < length; index += 1) {
      this.#keys.push(index);
      const key = vm.newNumber(index);
      const item = vm.ownData(ptr, key);
      vm.free(key);
      if (item === 'absent') throw new Refusal('hole in a sparse array');
      const value = this.#child(item, depth);
      if (value === undefined) throw new Refusal('undefined');
      copy.push(value);
      this.#keys.pop();
    }
    return copy;
  }

  #plain(ptr: Pointer, depth: number): Record<string, unknown> {
    const vm = this.#vm;
    const keys = vm.ownKeys(ptr);
    if (keys === undefined) throw outOfMemory();
    const copy: Record<string, unknown> = {};
    for (const key of keys) {
      if (!vm.isEnumerable(ptr, key)) continue;
      if (vm.kindOf(key) === 'symbol') {
        this.#keys.push({ symbol: vm.symbolText(key, MAX_NAME_CHARS) });
        throw new Refusal('symbol key');
      }
      const name = this.#text(key);
      this.#keys.push(name);
      const value = this.#child(vm.ownData(ptr, key), depth);
      if (value !== undefined) setOwn(copy, name, value);
      this.#keys.pop();
    }
    return copy;
  }

  #child(item: ReturnType<GuestVm['ownData']>, depth: number): unknown {
    if (item === 'accessor') throw new Refusal('accessor');
    if (item === 'no-memory') throw outOfMemory();
    if (item === 'absent') return undefined;
    try {
      return this.read(item, depth + 1);
    } finally {
      this.#vm.free(item);
    }
  }

  #tooMany(): Refusal {
    return new Refusal(`more than ${this.#budget.values} values`);
  }
}

function outOfMemory(): Refusal {
  return new Refusal('out of memory', 'no-memory');
}

/** How a key is written in a path. */
function member(name: Key): string {
  if (typeof name === 'number') return `[${name}]`;
  if (typeof name === 'object') return `[${name.symbol}]`;
  return /^[A-Za-z_$][\w$]*$/.test(name)
    ? `.${name.slice(0, MAX_NAME_CHARS)}`
    : `[${JSON.stringify(name.slice(0, MAX_NAME_CHARS))}]`;
}

function setOwn(object: Record<string, unknown>, key: string, value: unknown): void {
  // Plain assignment would call the setter of `__proto__`.
  if (key === '__proto__')
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

/** Reads an own data property by name, and hands it to `use`. Undefined when there is none. */
export function dataNamed<T>(
  vm: GuestVm,
  ptr: Pointer,
  name: string,
  use: (value: Pointer) => T | undefined,
): T | undefined {
  if (vm.kindOf(ptr) !== 'object' || vm.isProxy(ptr)) return undefined;
  const key = vm.newString(name);
  const found = vm.ownData(ptr, key);
  vm.free(key);
  if (typeof found === 'string') return undefined;
  try {
    return use(found);
  } finally {
    vm.free(found);
  }
}

/** Reads the start of an own data property that is a string. */
export function dataText(vm: GuestVm, ptr: Pointer, name: string, maxChars: number): string | undefined {
  return dataNamed(vm, ptr, name, (value) =>
    vm.kindOf(value) === 'string' ? vm.textUpTo(value, maxChars) : undefined,
  );
}

/** Looks a text up along the prototype chain, through data properties only. */
export function inheritedText(vm: GuestVm, start: Pointer, name: string, maxChars: number): string | undefined {
  let current: Pointer | undefined = vm.duplicate(start);
  // Prototype chains of errors are three long; a guest can make one of any length.
  for (let step = 0; step < 10 && current !== undefined; step += 1) {
    const text = vm.isProxy(current) ? undefined : dataText(vm, current, name, maxChars);
    if (text !== undefined || vm.isProxy(current)) {
      vm.free(current);
      return text;
    }
    const next: Pointer | undefined = vm.prototypeOf(current);
    vm.free(current);
    current = next;
  }
  if (current !== undefined) vm.free(current);
  return undefined;
}

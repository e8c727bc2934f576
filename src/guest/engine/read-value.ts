import { MAX_DEPTH, MAX_VALUES } from '../../wire/index.js';
import type { GuestVm, Pointer } from './guest-vm.js';

/** What reading one value out of a guest may cost. */
export interface ReadBudget {
  readonly depth: number;
  readonly values: number;
  /** UTF-16 units of all strings and keys. */
  readonly chars: number;
}

export const DEFAULT_READ_BUDGET: ReadBudget = { depth: MAX_DEPTH, values: MAX_VALUES, chars: 16 * 1024 * 1024 };

export type ReadResult =
  | { readonly ok: true; readonly value: unknown /** UTF-16 units of its strings and keys. */; readonly chars: number }
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
  try {
    const reader = new Reader(vm, budget);
    const value = reader.read(ptr, root, 0);
    return { ok: true, value, chars: reader.chars };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.reason, message: error.message };
    throw error;
  }
}

class Refusal extends Error {
  readonly reason: 'not-serializable' | 'no-memory';

  constructor(message: string, reason: 'not-serializable' | 'no-memory' = 'not-serializable') {
    super(message);
    this.reason = reason;
  }
}

class Reader {
  readonly #vm: GuestVm;
  readonly #budget: ReadBudget;
  readonly #path = new Set<number>();
  #values = 0;
  chars = 0;

  constructor(vm: GuestVm, budget: ReadBudget) {
    this.#vm = vm;
    this.#budget = budget;
  }

  read(ptr: Pointer, path: string, depth: number): unknown {
    this.#values += 1;
    if (this.#values > this.#budget.values) throw new Refusal(`${path}: more than ${this.#budget.values} values`);
    const kind = this.#vm.kindOf(ptr);
    switch (kind) {
      case 'string':
        return this.#text(ptr, path);
      case 'number': {
        const value = this.#vm.numberOf(ptr);
        if (!Number.isFinite(value)) throw new Refusal(`${path}: ${value}`);
        return value === 0 ? 0 : value;
      }
      case 'boolean':
        return this.#vm.booleanOf(ptr);
      case 'null':
        return null;
      case 'undefined':
        return undefined;
      case 'object':
        return this.#object(ptr, path, depth);
      default:
        throw new Refusal(`${path}: ${kind}`);
    }
  }

  #text(ptr: Pointer, path: string): string {
    this.chars += this.#vm.stringLength(ptr);
    if (this.chars > this.#budget.chars) throw new Refusal(`${path}: more than ${this.#budget.chars} characters`);
    const text = this.#vm.stringOf(ptr);
    if (text === undefined) throw new Refusal(`${path}: out of memory`, 'no-memory');
    return text;
  }

  #object(ptr: Pointer, path: string, depth: number): unknown {
    const vm = this.#vm;
    if (vm.isProxy(ptr)) throw new Refusal(`${path}: Proxy`);
    if (vm.isFunction(ptr)) throw new Refusal(`${path}: function`);
    if (depth >= this.#budget.depth) throw new Refusal(`${path}: nested deeper than ${this.#budget.depth} levels`);
    const identity = vm.identity(ptr);
    if (this.#path.has(identity)) throw new Refusal(`${path}: cycle`);
    const isArray = vm.isArray(ptr);
    this.#requirePlain(ptr, path, isArray ? 'arrayPrototype' : 'objectPrototype');
    this.#path.add(identity);
    const copy = isArray ? this.#array(ptr, path, depth) : this.#plain(ptr, path, depth);
    this.#path.delete(identity);
    return copy;
  }

  #requirePlain(ptr: Pointer, path: string, landmark: 'arrayPrototype' | 'objectPrototype'): void {
    const vm = this.#vm;
    if (!vm.isOfPlainClass(ptr)) throw new Refusal(`${path}: ${vm.className(ptr)}`);
    const prototype = vm.prototypeOf(ptr);
    if (prototype === undefined) {
      if (landmark === 'objectPrototype') return;
      throw new Refusal(`${path}: array without a prototype`);
    }
    const plain = vm.isLandmark(prototype, landmark);
    const name = plain ? '' : (dataNamed(vm, prototype, 'constructor', (maker) => dataText(vm, maker, 'name')) ?? '');
    vm.free(prototype);
    if (!plain) throw new Refusal(`${path}: ${name === '' ? 'class instance' : `instance of ${name.slice(0, 100)}`}`);
  }

  #array(ptr: Pointer, path: string, depth: number): unknown[] {
    const vm = this.#vm;
    const length = vm.arrayLength(ptr);
    if (length > this.#budget.values) throw new Refusal(`${path}: more than ${this.#budget.values} values`);
    const copy: unknown[] = [];
    for (let index = 0; index < length; index += 1) {
      const at = `${path}[${index}]`;
      const key = vm.newNumber(index);
      const item = vm.ownData(ptr, key);
      vm.free(key);
      if (item === 'absent') throw new Refusal(`${at}: hole in a sparse array`);
      const value = this.#child(item, at, depth);
      if (value === undefined) throw new Refusal(`${at}: undefined`);
      copy.push(value);
    }
    return copy;
  }

  #plain(ptr: Pointer, path: string, depth: number): Record<string, unknown> {
    const vm = this.#vm;
    const keys = vm.ownKeys(ptr);
    if (keys === undefined) throw new Refusal(`${path}: out of memory`, 'no-memory');
    const copy: Record<string, unknown> = {};
    for (const key of keys) {
      if (vm.isEnumerable(ptr, key)) {
        if (vm.kindOf(key) === 'symbol') throw new Refusal(`${path}[${vm.primitiveText(key, 'symbol')}]: symbol key`);
        const name = this.#text(key, path);
        const at = `${path}${member(name)}`;
        const value = this.#child(vm.ownData(ptr, key), at, depth);
        if (value !== undefined) setOwn(copy, name, value);
      }
      vm.free(key);
    }
    return copy;
  }

  #child(item: ReturnType<GuestVm['ownData']>, path: string, depth: number): unknown {
    if (item === 'accessor') throw new Refusal(`${path}: accessor`);
    if (item === 'no-memory') throw new Refusal(`${path}: out of memory`, 'no-memory');
    if (item === 'absent') return undefined;
    const value = this.read(item, path, depth + 1);
    this.#vm.free(item);
    return value;
  }
}

/** How a key is written in a path. */
function member(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name.slice(0, 100)}` : `[${JSON.stringify(name.slice(0, 100))}]`;
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
  const result = use(found);
  vm.free(found);
  return result;
}

/** Reads an own data property that is a string. */
export function dataText(vm: GuestVm, ptr: Pointer, name: string): string | undefined {
  return dataNamed(vm, ptr, name, (value) => (vm.kindOf(value) === 'string' ? vm.stringOf(value) : undefined));
}

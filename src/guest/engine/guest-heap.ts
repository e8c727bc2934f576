import type { QuickJS } from 'quickjs-wasi';
import { decodeText } from './engine-text.js';
import { BrokenGuest, NoGuestMemory } from './guest-errors.js';

/** The address of a boxed value in the guest's heap. Whoever receives one frees it, unless it is said to be borrowed. */
export type Pointer = number;

/** The values in the heap of one engine: makes them and looks at them. No code of the guest runs, since none of it takes proxies. */
export class GuestHeap {
  protected readonly vm: QuickJS;
  protected readonly exports: ReturnType<QuickJS['_getExports']>;
  /** Sixteen bytes for what the engine returns through pointers. */
  protected readonly scratch: Pointer;
  readonly #names: { readonly value: Pointer; readonly get: Pointer; readonly length: Pointer };
  readonly #plainClass: number;
  readonly #arrayClass: number;
  #bytes: Uint8Array;

  constructor(vm: QuickJS) {
    this.vm = vm;
    this.exports = vm._getExports();
    this.#bytes = new Uint8Array(this.exports.memory.buffer);
    const name = (text: string): Pointer => vm._writeString(text).ptr;
    this.#names = { value: name('value'), get: name('get'), length: name('length') };
    this.scratch = this.exports.wasm_malloc(16);
    this.#plainClass = vm.newObject().classId;
    this.#arrayClass = vm.newArray().classId;
  }

  newNumber(value: number): Pointer {
    return this.exports.qjs_new_number(value);
  }

  newString(text: string): Pointer {
    const { ptr, length } = this.writeText(text);
    const value = this.exports.qjs_new_string(ptr, length);
    this.exports.wasm_free(ptr);
    if (this.isException(value)) throw new NoGuestMemory('newString');
    return value;
  }

  duplicate(ptr: Pointer): Pointer {
    return this.exports.qjs_dup_value(ptr);
  }

  free(ptr: Pointer): void {
    this.exports.qjs_free_value(ptr);
  }

  // What follows looks at values, and runs no guest code.

  kindOf(ptr: Pointer): 'string' | 'number' | 'boolean' | 'null' | 'undefined' | 'bigint' | 'symbol' | 'object' {
    const e = this.exports;
    if (e.qjs_is_string(ptr) !== 0) return 'string';
    if (e.qjs_is_number(ptr) !== 0) return 'number';
    if (e.qjs_is_object(ptr) !== 0) return 'object';
    if (e.qjs_is_undefined(ptr) !== 0) return 'undefined';
    if (e.qjs_is_null(ptr) !== 0) return 'null';
    if (e.qjs_is_bool(ptr) !== 0) return 'boolean';
    return e.qjs_is_big_int(ptr) !== 0 ? 'bigint' : 'symbol';
  }

  isProxy(ptr: Pointer): boolean {
    return this.exports.qjs_is_proxy(ptr) !== 0;
  }

  isFunction(ptr: Pointer): boolean {
    return this.exports.qjs_is_function(ptr) !== 0;
  }

  isArray(ptr: Pointer): boolean {
    return this.exports.qjs_is_array(ptr) !== 0;
  }

  isError(ptr: Pointer): boolean {
    return this.exports.qjs_is_error(ptr) !== 0;
  }

  /** The engine's own name of an object's class; it cannot be forged. */
  className(ptr: Pointer): string {
    const name = this.exports.qjs_get_class_name(ptr);
    if (this.isException(name)) return 'Object';
    const text = this.kindOf(name) === 'string' ? this.stringOf(name) : undefined;
    this.free(name);
    return text ?? 'Object';
  }

  /** Whether an object is of the engine's class for plain objects, or for arrays; `classId` 0 is no object at all. */
  isOfPlainClass(ptr: Pointer): boolean {
    const id = this.exports.qjs_get_class_id(ptr);
    return id === this.#plainClass || id === this.#arrayClass;
  }

  numberOf(ptr: Pointer): number {
    return this.exports.qjs_get_float64(ptr);
  }

  booleanOf(ptr: Pointer): boolean {
    return this.exports.qjs_get_bool(ptr) !== 0;
  }

  /** The text of a string or big integer, or undefined when there is no memory left to encode it. Only for what is one of them. */
  stringOf(ptr: Pointer): string | undefined {
    const e = this.exports;
    const text = e.qjs_get_string_len(ptr, this.scratch);
    if (text === 0) {
      this.free(e.qjs_get_exception());
      return undefined;
    }
    const bytes = this.view();
    const length = new DataView(bytes.buffer).getUint32(this.scratch, true);
    const decoded = decodeText(Buffer.from(bytes.buffer, text, length));
    e.qjs_free_cstring(text);
    return decoded;
  }

  /** How many UTF-16 units a string has, without copying it. */
  stringLength(ptr: Pointer): number {
    return this.#takeNumber(this.exports.qjs_get_prop_string(ptr, this.#names.length));
  }

  arrayLength(ptr: Pointer): number {
    return this.#takeNumber(this.exports.qjs_get_prop_string(ptr, this.#names.length));
  }

  isEnumerable(ptr: Pointer, key: Pointer): boolean {
    return this.exports.qjs_property_is_enumerable_value(ptr, key) === 1;
  }

  /** An own data property's value; 'accessor' or 'absent' for what has none. Not for proxies. */
  ownData(ptr: Pointer, key: Pointer): Pointer | 'accessor' | 'absent' | 'no-memory' {
    const e = this.exports;
    const descriptor = e.qjs_get_own_property_descriptor(ptr, key);
    if (descriptor === 0) return 'absent';
    if (this.isException(descriptor)) return 'no-memory';
    // An own property each, so that a guest's `Object.prototype.get` changes nothing.
    const accessor = e.qjs_has_own_property(descriptor, this.#names.get) === 1;
    const value = accessor ? 0 : e.qjs_get_prop_string(descriptor, this.#names.value);
    this.free(descriptor);
    return accessor ? 'accessor' : value;
  }

  /** The prototype, or undefined for null. Not for proxies. */
  prototypeOf(ptr: Pointer): Pointer | undefined {
    const prototype = this.exports.qjs_get_prototype_of(ptr);
    if (this.exports.qjs_is_object(prototype) !== 0) return prototype;
    this.free(prototype);
    return undefined;
  }

  /** A number that two pointers share exactly if they mean the same object. Holds while the object is alive. */
  identity(ptr: Pointer): number {
    return this.exports.qjs_get_value_ptr(ptr);
  }

  protected isException(ptr: Pointer): boolean {
    if (this.exports.qjs_is_exception(ptr) === 0) return false;
    this.free(ptr);
    this.free(this.exports.qjs_get_exception());
    return true;
  }

  #takeNumber(ptr: Pointer): number {
    const value = this.exports.qjs_get_float64(ptr);
    this.free(ptr);
    return value;
  }

  protected writeText(text: string): { ptr: Pointer; length: number } {
    const encoded = Buffer.from(text);
    const ptr = this.exports.wasm_malloc(encoded.byteLength + 1);
    if (ptr === 0) throw new BrokenGuest(new Error('no memory for a string'));
    const bytes = this.view();
    bytes.set(encoded, ptr);
    bytes[ptr + encoded.byteLength] = 0;
    return { ptr, length: encoded.byteLength };
  }

  /** The bytes of the heap; growing it replaces the buffer behind them. */
  protected view(): Uint8Array {
    if (this.#bytes.buffer !== this.exports.memory.buffer) this.#bytes = new Uint8Array(this.exports.memory.buffer);
    return this.#bytes;
  }
}

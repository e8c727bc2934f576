import { randomFillSync } from 'node:crypto';
import { Intrinsics, JSValueHandle, QuickJS } from 'quickjs-wasi';
import { MAX_IDLE_HEAP_BYTES } from '../limits.js';
import type { HeapImage } from './heap-image.js';
import type { EngineModules } from './modules.js';
import { HOST_OP, PRELUDE_FILE, PRELUDE_SOURCE } from './prelude.js';
import { dataText } from './read-value.js';
import { changeUrl, formatQuery, parseQuery, parseUrl } from './url-host.js';

type Exports = ReturnType<QuickJS['_getExports']>;

/** The address of a boxed value in the guest's heap. Whoever receives one frees it, unless it is said to be borrowed. */
export type Pointer = number;

/** What a run hears of its guest. Pointers are borrowed for the duration of the call. */
export interface GuestHooks {
  log(args: readonly Pointer[]): void;
  /** Returns what the tool function returns to the guest: a promise, or a rejected one. */
  callTool(toolIndex: number, input: Pointer): JSValueHandle;
  /** Returns the id of the timer, or -1 when there are too many. */
  setTimer(delayMs: number): number;
  clearTimer(id: number): void;
  /** True ends the guest's current turn with an exception that it cannot catch. */
  interrupt(): boolean;
}

/** The functions of the prelude that the host calls. */
type Internal =
  | 'seed'
  | 'install'
  | 'makeError'
  | 'fire'
  | 'parse'
  | 'readStack'
  | 'dateText'
  | 'mapEntries'
  | 'setValues'
  | 'hrefOf'
  | 'globals'
  | 'ownKeys';
type Landmark = 'objectPrototype' | 'arrayPrototype' | 'internalErrorPrototype';

/** The guest's engine gave up in a way that leaves its heap unusable: the instance must be thrown away. */
export class BrokenGuest extends Error {
  override readonly name = 'BrokenGuest';
  readonly kind: 'stack' | 'trap';

  constructor(cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    // The engine's frames live on the host's stack; when that ends first, V8 says so with a RangeError.
    this.kind = cause instanceof RangeError ? 'stack' : 'trap';
  }
}

/** What the one function of the host is called inside the engine, where no guest sees it. */
const HOST_FUNCTION = 'host';

/** Runs the prelude in a fresh engine, and returns where its functions are. */
function runPrelude(vm: QuickJS): Pointer {
  const host = vm.newFunction(HOST_FUNCTION, () => vm.undefined);
  return vm.callFunction(vm.evalCode(PRELUDE_SOURCE, PRELUDE_FILE), vm.undefined, host).ptr;
}
const STACK_OVERFLOW = 'Maximum call stack size exceeded';
const OUT_OF_MEMORY = 'out of memory';

const NO_HOOKS: GuestHooks = {
  log: () => {},
  callTool: () => {
    throw new Error('no run is active');
  },
  setTimer: () => -1,
  clearTimer: () => {},
  interrupt: () => false,
};

/**
 * One engine with a pristine heap image. `reset()` copies the image back over the heap, which makes the instance as good as
 * new for a tenth of what a new one costs: all state of the engine is its linear memory and its stack pointer.
 *
 *     create ──▶ pristine ──begin(hooks)──▶ in use ──reset()──▶ pristine
 *                              in use ──(trap, or grown too large)──▶ thrown away
 */
export class GuestVm {
  readonly #vm: QuickJS;
  readonly #exports: Exports;
  readonly #image: Uint8Array;
  readonly #imageStack: number;
  readonly #stackFloor: number;
  readonly #imageUsage: number;
  readonly #internals: ReadonlyMap<Internal, Pointer>;
  readonly #landmarks: ReadonlyMap<Landmark, number>;
  readonly #names: { readonly value: Pointer; readonly get: Pointer; readonly length: Pointer };
  readonly #scratch: Pointer;
  readonly #plainClass: number;
  readonly #arrayClass: number;
  #hooks: GuestHooks = NO_HOOKS;
  #lastAnswer: JSValueHandle | undefined;
  #bytes: Uint8Array;
  #broken = false;
  /** Whether a host function could not answer the guest for lack of memory. */
  #starved = false;

  static async create(modules: EngineModules, stackBytes: number): Promise<GuestVm> {
    const current: { vm?: GuestVm } = {};
    const options = {
      wasm: modules.engine,
      extensions: modules.extensions.map(({ name, wasm }) => ({ name, wasm })),
      intrinsics: Intrinsics.ALL & ~Intrinsics.PERFORMANCE,
      maxStackSize: stackBytes,
      // Guests see UTC: the zone of the host is none of their business.
      timezoneOffset: 0,
      interruptHandler: () => current.vm?.onInterrupt() ?? false,
      // Nothing that the engine itself prints may reach our stdout, which may carry a protocol.
      wasi: () => ({ fd_write: () => 8 }),
    };
    const { image } = modules;
    const vm = image ? await QuickJS.restore(image.snapshot, options) : await QuickJS.create(options);
    const made = new GuestVm(vm, stackBytes, image?.table ?? runPrelude(vm));
    current.vm = made;
    return made;
  }

  /** Makes the heap that others start from. */
  static async makeImage(modules: EngineModules): Promise<HeapImage> {
    const vm = await QuickJS.create({
      wasm: modules.engine,
      extensions: modules.extensions.map(({ name, wasm }) => ({ name, wasm })),
      intrinsics: Intrinsics.ALL & ~Intrinsics.PERFORMANCE,
      interruptHandler: () => false,
    });
    const table = runPrelude(vm);
    vm.runGC();
    return { snapshot: vm.snapshot(), table };
  }

  private constructor(vm: QuickJS, stackBytes: number, tablePointer: Pointer) {
    this.#vm = vm;
    this.#exports = vm._getExports();
    this.#bytes = new Uint8Array(this.#exports.memory.buffer);
    vm.registerHostCallback(HOST_FUNCTION, (...args) => this.#answered(() => this.#onHostCall(args)));
    const table = new JSValueHandle(vm, tablePointer);
    const pick = (name: string): JSValueHandle => table.getProp(name);
    const functions: Internal[] = [
      'seed',
      'install',
      'makeError',
      'fire',
      'parse',
      'readStack',
      'dateText',
      'mapEntries',
      'setValues',
      'hrefOf',
      'globals',
      'ownKeys',
    ];
    const landmarks: Landmark[] = ['objectPrototype', 'arrayPrototype', 'internalErrorPrototype'];
    this.#internals = new Map(functions.map((name) => [name, pick(name).ptr]));
    this.#landmarks = new Map(landmarks.map((name) => [name, this.#exports.qjs_get_value_ptr(pick(name).ptr)]));
    const name = (text: string): Pointer => vm._writeString(text).ptr;
    this.#names = { value: name('value'), get: name('get'), length: name('length') };
    this.#scratch = this.#exports.wasm_malloc(16);
    this.#plainClass = vm.newObject().classId;
    this.#arrayClass = vm.newArray().classId;
    // The singletons are part of the image, so that they stay valid over a reset.
    void [vm.undefined, vm.null, vm.true, vm.false, vm.global];
    vm.runGC();
    this.#imageUsage = vm.getMemoryUsage().mallocSize;
    // The stack lies below everything else and is empty between calls, so it is no part of the image.
    this.#imageStack = this.#exports.__stack_pointer.value;
    this.#image = new Uint8Array(this.#exports.memory.buffer).slice(this.#imageStack);
    // The engine looks at its stack on each call of a guest's; what it calls itself in between takes less than as much again.
    this.#stackFloor = Math.max(0, this.#imageStack - 2 * stackBytes);
  }

  /** Starts a run: sets its limits, and gives its `Math.random` a seed. */
  begin(hooks: GuestHooks, memoryLimitBytes: number): void {
    this.#hooks = hooks;
    this.#starved = false;
    // What the pristine heap holds is ours, not the guest's.
    this.#exports.qjs_set_memory_limit(this.#imageUsage + memoryLimitBytes);
    this.free(this.callInternal('seed', ...Array.from({ length: 4 }, () => this.newNumber(randomSeed()))));
  }

  /** Makes the heap pristine again. False when the instance is broken or has grown too large, and must be thrown away. */
  reset(): boolean {
    this.#hooks = NO_HOOKS;
    // What it points to belongs to a heap that is gone.
    this.#lastAnswer = undefined;
    const memory = this.#exports.memory;
    if (this.#broken || memory.buffer.byteLength > MAX_IDLE_HEAP_BYTES) return false;
    const bytes = this.#view();
    bytes.set(this.#image, this.#imageStack);
    bytes.fill(0, this.#imageStack + this.#image.byteLength);
    bytes.fill(0, this.#stackFloor, this.#imageStack);
    this.#exports.__stack_pointer.value = this.#imageStack;
    return true;
  }

  dispose(): void {
    this.#hooks = NO_HOOKS;
    this.#broken = true;
    this.#vm.dispose();
  }

  /** Whether the guest is, or in this run has been, so close to its limit that the next allocation may have been refused. */
  nearLimit(memoryLimitBytes: number): boolean {
    const near = memoryLimitBytes * 0.8;
    // The linear memory never shrinks, so it tells of the past.
    const peak = this.#exports.memory.buffer.byteLength - this.#imageStack - this.#image.byteLength;
    return peak >= near || (!this.#broken && this.#vm.getMemoryUsage().mallocSize - this.#imageUsage >= near);
  }

  // --- running guest code ----------------------------------------------------------------------------------------------

  /** Evaluates a script. Returns the value, or the exception with `ok: false`. */
  evaluate(source: string, file: string): { ok: boolean; value: Pointer } {
    return this.#guard(() => {
      const code = this.#writeText(source);
      const name = this.#writeText(file);
      const result = this.#exports.qjs_eval(code.ptr, code.length, name.ptr, 0);
      this.#exports.wasm_free(code.ptr);
      this.#exports.wasm_free(name.ptr);
      return this.#outcome(result);
    });
  }

  /** Calls a guest function without arguments. */
  call(fn: Pointer): { ok: boolean; value: Pointer } {
    return this.#guard(() => this.#outcome(this.#exports.qjs_call(fn, this.#vm.undefined.ptr, 0, 0)));
  }

  /** Calls a function of the prelude. Arguments are consumed. */
  callInternal(name: Internal, ...args: Pointer[]): Pointer {
    const { ok, value } = this.tryInternal(name, ...args);
    if (ok) return value;
    const overflow = dataText(this, value, 'message') === STACK_OVERFLOW;
    const starved = this.isOutOfMemory(value);
    this.free(value);
    if (overflow) throw new RangeError(STACK_OVERFLOW);
    throw starved ? new NoGuestMemory(name) : new GuestFailure(name);
  }

  /**
   * Whether an exception is the engine's own for lack of memory, or for a string beyond what it can hold: only it makes errors
   * with this prototype, and a guest has no other way to get at it.
   */
  isOutOfMemory(ptr: Pointer): boolean {
    if (this.kindOf(ptr) !== 'object' || this.isProxy(ptr) || !this.isError(ptr)) return false;
    const prototype = this.prototypeOf(ptr);
    if (prototype === undefined) return false;
    const internal = this.isLandmark(prototype, 'internalErrorPrototype');
    this.free(prototype);
    // Where a host function had no memory to answer, all that the guest got is an error that says so.
    return internal || (this.#starved && dataText(this, ptr, 'message') === OUT_OF_MEMORY);
  }

  /** Like {@link callInternal}, for those that run guest code and so may throw. */
  tryInternal(name: Internal, ...args: Pointer[]): { ok: boolean; value: Pointer } {
    return this.#guard(() => {
      const fn = this.#internals.get(name) as Pointer;
      const list = args.length === 0 ? 0 : this.#exports.wasm_malloc(args.length * 4);
      const view = new DataView(this.#exports.memory.buffer);
      for (const [index, arg] of args.entries()) view.setUint32(list + index * 4, arg, true);
      const result = this.#exports.qjs_call(fn, this.#vm.undefined.ptr, args.length, list);
      if (list !== 0) this.#exports.wasm_free(list);
      for (const arg of args) this.free(arg);
      return this.#outcome(result);
    });
  }

  /** Runs one pending job. Says whether there was one; one that threw, or was cut off by the interrupt, gives what it threw. */
  runJob(): 'none' | 'done' | { readonly thrown: Pointer } {
    return this.#guard(() => {
      if (this.#exports.qjs_is_job_pending() === 0) return 'none';
      if (this.#exports.qjs_execute_pending_job() >= 0) return 'done';
      return { thrown: this.#exports.qjs_get_exception() };
    });
  }

  /**
   * A promise whose two ends are in the host's hands. Made from the engine's parts: the engine's wrapper keeps the end that
   * is not used for as long as the instance lives, which is many runs.
   */
  newPromise(): { promise: JSValueHandle; resolve(value: Pointer): void; reject(value: Pointer): void } {
    const e = this.#exports;
    const promise = e.qjs_new_promise(this.#scratch, this.#scratch + 4);
    if (this.#isException(promise)) throw new NoGuestMemory('newPromise');
    const view = new DataView(e.memory.buffer);
    const resolve = view.getUint32(this.#scratch, true);
    const reject = view.getUint32(this.#scratch + 4, true);
    const settle = (end: Pointer, value: Pointer): void =>
      this.#guard(() => {
        const list = e.wasm_malloc(4);
        new DataView(e.memory.buffer).setUint32(list, value, true);
        this.free(this.#outcome(e.qjs_call(end, this.#vm.undefined.ptr, 1, list)).value);
        e.wasm_free(list);
        this.free(resolve);
        this.free(reject);
      });
    return {
      promise: new JSValueHandle(this.#vm, promise),
      resolve: (value) => settle(resolve, value),
      reject: (value) => settle(reject, value),
    };
  }

  /** 0 pending, 1 fulfilled, 2 rejected; -1 for what is no promise. */
  promiseState(ptr: Pointer): number {
    return this.#exports.qjs_is_promise(ptr) === 0 ? -1 : this.#exports.qjs_promise_state(ptr);
  }

  promiseResult(ptr: Pointer): Pointer {
    return this.#exports.qjs_promise_result(ptr);
  }

  // --- making values ---------------------------------------------------------------------------------------------------

  newNumber(value: number): Pointer {
    return this.#exports.qjs_new_number(value);
  }

  newString(text: string): Pointer {
    const { ptr, length } = this.#writeText(text);
    const value = this.#exports.qjs_new_string(ptr, length);
    this.#exports.wasm_free(ptr);
    if (this.#isException(value)) throw new NoGuestMemory('newString');
    return value;
  }

  /** Brings a transport-safe value in, by parsing and never by evaluating. Undefined when there is no memory for it. */
  newValue(value: unknown): Pointer | undefined {
    if (value === undefined) return this.#exports.qjs_dup_value(this.#vm.undefined.ptr);
    if (typeof value === 'number') return this.newNumber(value);
    if (typeof value === 'string' && value.isWellFormed()) return this.newString(value);
    const { ok, value: parsed } = this.tryInternal('parse', this.newString(JSON.stringify(value)));
    if (ok) return parsed;
    this.free(parsed);
    return undefined;
  }

  duplicate(ptr: Pointer): Pointer {
    return this.#exports.qjs_dup_value(ptr);
  }

  free(ptr: Pointer): void {
    this.#exports.qjs_free_value(ptr);
  }

  // --- looking at values, without running guest code -------------------------------------------------------------------

  kindOf(ptr: Pointer): 'string' | 'number' | 'boolean' | 'null' | 'undefined' | 'bigint' | 'symbol' | 'object' {
    const e = this.#exports;
    if (e.qjs_is_string(ptr) !== 0) return 'string';
    if (e.qjs_is_number(ptr) !== 0) return 'number';
    if (e.qjs_is_object(ptr) !== 0) return 'object';
    if (e.qjs_is_undefined(ptr) !== 0) return 'undefined';
    if (e.qjs_is_null(ptr) !== 0) return 'null';
    if (e.qjs_is_bool(ptr) !== 0) return 'boolean';
    return e.qjs_is_big_int(ptr) !== 0 ? 'bigint' : 'symbol';
  }

  isProxy(ptr: Pointer): boolean {
    return this.#exports.qjs_is_proxy(ptr) !== 0;
  }

  isFunction(ptr: Pointer): boolean {
    return this.#exports.qjs_is_function(ptr) !== 0;
  }

  isArray(ptr: Pointer): boolean {
    return this.#exports.qjs_is_array(ptr) !== 0;
  }

  isError(ptr: Pointer): boolean {
    return this.#exports.qjs_is_error(ptr) !== 0;
  }

  /** The engine's own name of an object's class; it cannot be forged. */
  className(ptr: Pointer): string {
    const name = this.#exports.qjs_get_class_name(ptr);
    if (this.#isException(name)) return 'Object';
    const text = this.kindOf(name) === 'string' ? this.stringOf(name) : undefined;
    this.free(name);
    return text ?? 'Object';
  }

  /** Whether an object is of the engine's class for plain objects, or for arrays; `classId` 0 is no object at all. */
  isOfPlainClass(ptr: Pointer): boolean {
    const id = this.#exports.qjs_get_class_id(ptr);
    return id === this.#plainClass || id === this.#arrayClass;
  }

  numberOf(ptr: Pointer): number {
    return this.#exports.qjs_get_float64(ptr);
  }

  booleanOf(ptr: Pointer): boolean {
    return this.#exports.qjs_get_bool(ptr) !== 0;
  }

  /** The text of a string value, or undefined when there is no memory left to encode it. Only for what is a string. */
  stringOf(ptr: Pointer): string | undefined {
    const e = this.#exports;
    const text = e.qjs_get_string_len(ptr, this.#scratch);
    if (text === 0) {
      this.free(e.qjs_get_exception());
      return undefined;
    }
    const bytes = this.#view();
    const length = new DataView(bytes.buffer).getUint32(this.#scratch, true);
    const decoded = decodeText(Buffer.from(bytes.buffer, text, length));
    e.qjs_free_cstring(text);
    return decoded;
  }

  /** How many UTF-16 units a string has, without copying it. */
  stringLength(ptr: Pointer): number {
    return this.#takeNumber(this.#exports.qjs_get_prop_string(ptr, this.#names.length));
  }

  /** The conversion that the language defines for symbols and big integers, which runs no guest code. */
  primitiveText(ptr: Pointer, kind: 'bigint' | 'symbol'): string {
    if (kind === 'bigint') return this.stringOf(ptr) ?? '';
    const out = this.#exports.wasm_malloc(4);
    const found = this.#exports.qjs_get_symbol_description(ptr, out);
    const description = new DataView(this.#exports.memory.buffer).getUint32(out, true);
    this.#exports.wasm_free(out);
    if (found <= 0 || description === 0) return 'Symbol()';
    const text = this.kindOf(description) === 'string' ? this.stringOf(description) : '';
    this.free(description);
    return `Symbol(${text ?? ''})`;
  }

  arrayLength(ptr: Pointer): number {
    return this.#takeNumber(this.#exports.qjs_get_prop_string(ptr, this.#names.length));
  }

  /** All own keys: pointers to strings and symbols. Undefined when there is no memory. Not for proxies. */
  ownKeys(ptr: Pointer): Pointer[] | undefined {
    // The engine's own list of keys is filled by assignment, which runs what a guest put on `Array.prototype`; this one is not.
    const { ok, value: list } = this.tryInternal('ownKeys', this.duplicate(ptr));
    if (!ok) {
      this.free(list);
      return undefined;
    }
    const count = this.arrayLength(list);
    const keys: Pointer[] = [];
    for (let index = 0; index < count; index += 1) keys.push(this.#exports.qjs_get_prop_uint32(list, index));
    this.free(list);
    return keys;
  }

  isEnumerable(ptr: Pointer, key: Pointer): boolean {
    return this.#exports.qjs_property_is_enumerable_value(ptr, key) === 1;
  }

  /** An own data property's value; 'accessor' or 'absent' for what has none. Not for proxies. */
  ownData(ptr: Pointer, key: Pointer): Pointer | 'accessor' | 'absent' | 'no-memory' {
    const e = this.#exports;
    const descriptor = e.qjs_get_own_property_descriptor(ptr, key);
    if (descriptor === 0) return 'absent';
    if (this.#isException(descriptor)) return 'no-memory';
    // An own property each, so that a guest's `Object.prototype.get` changes nothing.
    const accessor = e.qjs_has_own_property(descriptor, this.#names.get) === 1;
    const value = accessor ? 0 : e.qjs_get_prop_string(descriptor, this.#names.value);
    this.free(descriptor);
    return accessor ? 'accessor' : value;
  }

  /** An element of an array that is one of our own making. */
  element(ptr: Pointer, index: number): Pointer {
    return this.#exports.qjs_get_prop_uint32(ptr, index);
  }

  /** The prototype, or undefined for null. Not for proxies. */
  prototypeOf(ptr: Pointer): Pointer | undefined {
    const prototype = this.#exports.qjs_get_prototype_of(ptr);
    if (this.#exports.qjs_is_object(prototype) !== 0) return prototype;
    this.free(prototype);
    return undefined;
  }

  /** A number that two pointers share exactly if they mean the same object. Holds while the object is alive. */
  identity(ptr: Pointer): number {
    return this.#exports.qjs_get_value_ptr(ptr);
  }

  isLandmark(ptr: Pointer, landmark: Landmark): boolean {
    return this.identity(ptr) === this.#landmarks.get(landmark);
  }

  // --- inside ------------------------------------------------------------------------------------------------------------

  /** @internal */
  onInterrupt(): boolean {
    return this.#hooks.interrupt();
  }

  /**
   * Answers a call of the guest. An error of ours must not reach the guest as it is: its stack would tell the paths of this
   * machine. The engine copies the answer and leaves ours to us, so it is let go with the next call.
   */
  #answered(run: () => JSValueHandle): JSValueHandle {
    try {
      const answer = run();
      this.#lastAnswer?.dispose();
      this.#lastAnswer = answer;
      return answer;
    } catch (error) {
      if (error instanceof RangeError) throw STACK_OVERFLOW;
      if (!(error instanceof NoGuestMemory)) throw 'the host could not answer';
      this.#starved = true;
      throw OUT_OF_MEMORY;
    }
  }

  #onHostCall(args: readonly JSValueHandle[]): JSValueHandle {
    const vm = this.#vm;
    const text = (index: number): string => args[index]?.toString() ?? '';
    switch (args[0]?.toNumber()) {
      case HOST_OP.log:
        this.#hooks.log(args.slice(2).map((arg) => arg.ptr));
        return vm.undefined;
      case HOST_OP.callTool:
        return this.#hooks.callTool(args[1]?.toNumber() ?? -1, args[2]?.ptr ?? vm.undefined.ptr);
      case HOST_OP.setTimer:
        return vm.newNumber(this.#hooks.setTimer(args[1]?.toNumber() ?? 0));
      case HOST_OP.clearTimer:
        this.#hooks.clearTimer(args[1]?.toNumber() ?? -1);
        return vm.undefined;
      case HOST_OP.randomBytes:
        return vm.newArrayBuffer(randomFillSync(new Uint8Array(args[1]?.toNumber() ?? 0)));
      case HOST_OP.parseUrl:
        return this.#textOrUndefined(parseUrl(text(1), args[2]?.isUndefined === false ? text(2) : undefined));
      case HOST_OP.changeUrl:
        return this.#textOrUndefined(changeUrl(text(1), text(2), text(3)));
      case HOST_OP.parseQuery:
        return vm.newString(parseQuery(text(1)));
      case HOST_OP.formatQuery:
        return vm.newString(formatQuery(text(1)));
      default:
        return vm.undefined;
    }
  }

  #textOrUndefined(text: string | undefined): JSValueHandle {
    return text === undefined ? this.#vm.undefined : this.#vm.newString(text);
  }

  #outcome(result: Pointer): { ok: boolean; value: Pointer } {
    if (this.#exports.qjs_is_exception(result) === 0) return { ok: true, value: result };
    this.free(result);
    return { ok: false, value: this.#exports.qjs_get_exception() };
  }

  #isException(ptr: Pointer): boolean {
    if (this.#exports.qjs_is_exception(ptr) === 0) return false;
    this.free(ptr);
    this.free(this.#exports.qjs_get_exception());
    return true;
  }

  #takeNumber(ptr: Pointer): number {
    const value = this.#exports.qjs_get_float64(ptr);
    this.free(ptr);
    return value;
  }

  #writeText(text: string): { ptr: Pointer; length: number } {
    const encoded = Buffer.from(text);
    const ptr = this.#exports.wasm_malloc(encoded.byteLength + 1);
    if (ptr === 0) throw new BrokenGuest(new Error('no memory for a string'));
    const bytes = this.#view();
    bytes.set(encoded, ptr);
    bytes[ptr + encoded.byteLength] = 0;
    return { ptr, length: encoded.byteLength };
  }

  /** The bytes of the heap; growing it replaces the buffer behind them. */
  #view(): Uint8Array {
    if (this.#bytes.buffer !== this.#exports.memory.buffer) this.#bytes = new Uint8Array(this.#exports.memory.buffer);
    return this.#bytes;
  }

  #guard<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      this.#broken = true;
      throw error instanceof BrokenGuest ? error : new BrokenGuest(error);
    }
  }
}

const seeds = new Int32Array(1024);
let seedsUsed = seeds.length;

/** A random number of 32 bits, from a store that is filled in one go. */
function randomSeed(): number {
  if (seedsUsed === seeds.length) {
    randomFillSync(seeds);
    seedsUsed = 0;
  }
  return seeds[seedsUsed++] ?? 0;
}

/** The guest has no memory left for what the host was about to give it. */
export class NoGuestMemory extends Error {
  override readonly name = 'NoGuestMemory';
  constructor(where: string) {
    super(`the guest has no memory left for ${where}`);
  }
}

/** A function of the prelude threw, which only happens when the guest has no time left or broke what it stands on. */
export class GuestFailure extends Error {
  override readonly name = 'GuestFailure';
  constructor(where: string) {
    super(`the guest failed in ${where}`);
  }
}

const SURROGATE_LEAD = 0xed;

/** Decodes the engine's text: UTF-8, with lone surrogates as three bytes of their own. */
function decodeText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd') || !bytes.includes(SURROGATE_LEAD)) return text;
  let result = '';
  let from = 0;
  for (let at = bytes.indexOf(SURROGATE_LEAD); at !== -1; at = bytes.indexOf(SURROGATE_LEAD, at + 1)) {
    const second = bytes[at + 1] ?? 0;
    if (second < 0xa0) continue;
    const unit = ((SURROGATE_LEAD & 0x0f) << 12) | ((second & 0x3f) << 6) | ((bytes[at + 2] ?? 0) & 0x3f);
    result += bytes.toString('utf8', from, at) + String.fromCharCode(unit);
    from = at + 3;
  }
  return result + bytes.toString('utf8', from);
}

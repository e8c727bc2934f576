import { Intrinsics, JSValueHandle, QuickJS } from 'quickjs-wasi';
import { MAX_IDLE_HEAP_BYTES } from '../limits.js';
import { BrokenGuest, GuestFailure, NoGuestMemory, OUT_OF_MEMORY, STACK_OVERFLOW } from './guest-errors.js';
import { GuestHeap, type Pointer } from './guest-heap.js';
import type { HeapImage } from './heap-image.js';
import { type GuestHooks, HostCalls } from './host-calls.js';
import type { EngineModules } from './modules.js';
import { PRELUDE_FILE, PRELUDE_SOURCE } from './prelude.js';
import { randomSeed } from './random-seed.js';
import { dataText } from './read-value.js';

/** The functions of the prelude that the host calls. */
const INTERNALS = [
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
  'sliceText',
  'symbolText',
] as const;
type Internal = (typeof INTERNALS)[number];
/** Objects that the host knows again when it sees them. */
const LANDMARKS = ['objectPrototype', 'arrayPrototype', 'internalErrorPrototype'] as const;
type Landmark = (typeof LANDMARKS)[number];

/** What the one function of the host is called inside the engine, where no guest sees it. */
const HOST_FUNCTION = 'host';

/** What every engine is made of, so that an image fits all of them. */
function engineParts(modules: EngineModules) {
  return {
    wasm: modules.engine,
    extensions: modules.extensions.map(({ name, wasm }) => ({ name, wasm })),
    intrinsics: Intrinsics.ALL & ~Intrinsics.PERFORMANCE,
  };
}

/** Runs the prelude in a fresh engine, and returns where its functions are. */
function runPrelude(vm: QuickJS): Pointer {
  const host = vm.newFunction(HOST_FUNCTION, () => vm.undefined);
  return vm.callFunction(vm.evalCode(PRELUDE_SOURCE, PRELUDE_FILE), vm.undefined, host).ptr;
}

/**
 * One engine with a pristine heap image. `reset()` copies the image back over the heap, which makes the instance as good as
 * new for a tenth of what a new one costs: all state of the engine is its linear memory and its stack pointer.
 *
 *     create ──▶ pristine ──begin(hooks)──▶ in use ──reset()──▶ pristine
 *                              in use ──(trap, or grown too large)──▶ thrown away
 */
export class GuestVm extends GuestHeap {
  readonly #calls: HostCalls;
  readonly #image: Uint8Array;
  readonly #imageStack: number;
  readonly #stackFloor: number;
  readonly #imageUsage: number;
  readonly #internals: ReadonlyMap<Internal, Pointer>;
  readonly #landmarks: ReadonlyMap<Landmark, number>;
  #broken = false;

  static async create(modules: EngineModules, stackBytes: number): Promise<GuestVm> {
    const current: { vm?: GuestVm } = {};
    const options = {
      ...engineParts(modules),
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
    const vm = await QuickJS.create({ ...engineParts(modules), interruptHandler: () => false });
    const table = runPrelude(vm);
    vm.runGC();
    return { snapshot: vm.snapshot(), table };
  }

  private constructor(vm: QuickJS, stackBytes: number, tablePointer: Pointer) {
    super(vm);
    const calls = new HostCalls(vm);
    this.#calls = calls;
    vm.registerHostCallback(HOST_FUNCTION, (...args) => calls.answer(args));
    const table = new JSValueHandle(vm, tablePointer);
    const pick = (name: string): JSValueHandle => table.getProp(name);
    this.#internals = new Map(INTERNALS.map((name) => [name, pick(name).ptr]));
    this.#landmarks = new Map(LANDMARKS.map((name) => [name, this.exports.qjs_get_value_ptr(pick(name).ptr)]));
    // The singletons are part of the image, so that they stay valid over a reset.
    void [vm.undefined, vm.null, vm.true, vm.false, vm.global];
    vm.runGC();
    this.#imageUsage = vm.getMemoryUsage().mallocSize;
    // The stack lies below everything else and is empty between calls, so it is no part of the image.
    this.#imageStack = this.exports.__stack_pointer.value;
    this.#image = new Uint8Array(this.exports.memory.buffer).slice(this.#imageStack);
    // The engine looks at its stack on each call of a guest's; what it calls itself in between takes less than as much again.
    this.#stackFloor = Math.max(0, this.#imageStack - 2 * stackBytes);
  }

  /** Starts a run: sets its limits, and gives its `Math.random` a seed. */
  begin(hooks: GuestHooks, memoryLimitBytes: number): void {
    this.#calls.begin(hooks);
    // What the pristine heap holds is ours, not the guest's.
    this.exports.qjs_set_memory_limit(this.#imageUsage + memoryLimitBytes);
    this.free(this.callInternal('seed', ...Array.from({ length: 4 }, () => this.newNumber(randomSeed()))));
  }

  /** Makes the heap pristine again. False when the instance is broken or has grown too large, and must be thrown away. */
  reset(): boolean {
    this.#calls.end();
    const memory = this.exports.memory;
    if (this.#broken || memory.buffer.byteLength > MAX_IDLE_HEAP_BYTES) return false;
    const bytes = this.view();
    bytes.set(this.#image, this.#imageStack);
    bytes.fill(0, this.#imageStack + this.#image.byteLength);
    bytes.fill(0, this.#stackFloor, this.#imageStack);
    this.exports.__stack_pointer.value = this.#imageStack;
    return true;
  }

  dispose(): void {
    this.#calls.end();
    this.#broken = true;
    this.vm.dispose();
  }

  /** Whether the guest is, or in this run has been, so close to its limit that the next allocation may have been refused. */
  nearLimit(memoryLimitBytes: number): boolean {
    const near = memoryLimitBytes * 0.8;
    // The linear memory never shrinks, so it tells of the past.
    const peak = this.exports.memory.buffer.byteLength - this.#imageStack - this.#image.byteLength;
    return peak >= near || (!this.#broken && this.vm.getMemoryUsage().mallocSize - this.#imageUsage >= near);
  }

  /** Evaluates a script. Returns the value, or the exception with `ok: false`. */
  evaluate(source: string, file: string): { ok: boolean; value: Pointer } {
    return this.#guard(() => {
      const code = this.writeText(source);
      const name = this.writeText(file);
      const result = this.exports.qjs_eval(code.ptr, code.length, name.ptr, 0);
      this.exports.wasm_free(code.ptr);
      this.exports.wasm_free(name.ptr);
      return this.#outcome(result);
    });
  }

  /** Calls a guest function without arguments. */
  call(fn: Pointer): { ok: boolean; value: Pointer } {
    return this.#guard(() => this.#outcome(this.exports.qjs_call(fn, this.vm.undefined.ptr, 0, 0)));
  }

  /** Calls a function of the prelude. Arguments are consumed. */
  callInternal(name: Internal, ...args: Pointer[]): Pointer {
    const { ok, value } = this.tryInternal(name, ...args);
    if (ok) return value;
    const overflow = dataText(this, value, 'message', STACK_OVERFLOW.length + 1) === STACK_OVERFLOW;
    const starved = this.isOutOfMemory(value);
    this.free(value);
    if (overflow) throw new RangeError(STACK_OVERFLOW);
    throw starved ? new NoGuestMemory(name) : new GuestFailure(name);
  }

  /**
   * Whether an exception is the engine's own for lack of memory, or for a string beyond what it can hold: only it makes errors
   * with this prototype. A guest gets at it by catching one, so only a guest that was refused memory can claim that it was.
   */
  isOutOfMemory(ptr: Pointer): boolean {
    if (this.kindOf(ptr) !== 'object' || this.isProxy(ptr) || !this.isError(ptr)) return false;
    const prototype = this.prototypeOf(ptr);
    if (prototype === undefined) return false;
    const internal = this.isLandmark(prototype, 'internalErrorPrototype');
    this.free(prototype);
    // Where a host function had no memory to answer, all that the guest got is an error that says so.
    return (
      internal || (this.#calls.starved && dataText(this, ptr, 'message', OUT_OF_MEMORY.length + 1) === OUT_OF_MEMORY)
    );
  }

  /** Like {@link callInternal}, for those that run guest code and so may throw. */
  tryInternal(name: Internal, ...args: Pointer[]): { ok: boolean; value: Pointer } {
    return this.#guard(() => {
      const fn = this.#internals.get(name) as Pointer;
      const list = args.length === 0 ? 0 : this.exports.wasm_malloc(args.length * 4);
      const view = new DataView(this.exports.memory.buffer);
      for (const [index, arg] of args.entries()) view.setUint32(list + index * 4, arg, true);
      const result = this.exports.qjs_call(fn, this.vm.undefined.ptr, args.length, list);
      if (list !== 0) this.exports.wasm_free(list);
      for (const arg of args) this.free(arg);
      return this.#outcome(result);
    });
  }

  /** Runs one pending job. Says whether there was one; one that threw, or was cut off by the interrupt, gives what it threw. */
  runJob(): 'none' | 'done' | { readonly thrown: Pointer } {
    return this.#guard(() => {
      if (this.exports.qjs_is_job_pending() === 0) return 'none';
      if (this.exports.qjs_execute_pending_job() >= 0) return 'done';
      return { thrown: this.exports.qjs_get_exception() };
    });
  }

  /**
   * A promise whose two ends are in the host's hands. Made from the engine's parts: the engine's wrapper keeps the end that
   * is not used for as long as the instance lives, which is many runs.
   */
  newPromise(): { promise: JSValueHandle; resolve(value: Pointer): void; reject(value: Pointer): void } {
    const e = this.exports;
    const promise = e.qjs_new_promise(this.scratch, this.scratch + 4);
    if (this.isException(promise)) throw new NoGuestMemory('newPromise');
    const view = new DataView(e.memory.buffer);
    const resolve = view.getUint32(this.scratch, true);
    const reject = view.getUint32(this.scratch + 4, true);
    const settle = (end: Pointer, value: Pointer): void =>
      this.#guard(() => {
        const list = e.wasm_malloc(4);
        new DataView(e.memory.buffer).setUint32(list, value, true);
        this.free(this.#outcome(e.qjs_call(end, this.vm.undefined.ptr, 1, list)).value);
        e.wasm_free(list);
        this.free(resolve);
        this.free(reject);
      });
    return {
      promise: new JSValueHandle(this.vm, promise),
      resolve: (value) => settle(resolve, value),
      reject: (value) => settle(reject, value),
    };
  }

  /** 0 pending, 1 fulfilled, 2 rejected. Only for promises. */
  promiseState(ptr: Pointer): number {
    return this.exports.qjs_promise_state(ptr);
  }

  promiseResult(ptr: Pointer): Pointer {
    return this.exports.qjs_promise_result(ptr);
  }

  /** Brings a transport-safe value in, by parsing and never by evaluating. Undefined when there is no memory for it. */
  newValue(value: unknown): Pointer | undefined {
    if (value === undefined) return this.exports.qjs_dup_value(this.vm.undefined.ptr);
    if (typeof value === 'number') return this.newNumber(value);
    if (typeof value === 'string' && value.isWellFormed()) return this.newString(value);
    const { ok, value: parsed } = this.tryInternal('parse', this.newString(JSON.stringify(value)));
    if (ok) return parsed;
    this.free(parsed);
    return undefined;
  }

  /** All own keys: strings and symbols, each borrowed until the next. Undefined when there is no memory. Not for proxies. */
  ownKeys(ptr: Pointer): Iterable<Pointer> | undefined {
    // The engine's own list of keys is filled by assignment, which runs what a guest put on `Array.prototype`; this one is not.
    const { ok, value: list } = this.tryInternal('ownKeys', this.duplicate(ptr));
    if (!ok) {
      this.free(list);
      return undefined;
    }
    return this.#each(list);
  }

  /** One element at a time: each has a box in memory that no limit of the guest counts. */
  *#each(list: Pointer): Generator<Pointer> {
    try {
      const count = this.arrayLength(list);
      for (let index = 0; index < count; index += 1) {
        const item = this.exports.qjs_get_prop_uint32(list, index);
        try {
          yield item;
        } finally {
          this.free(item);
        }
      }
    } finally {
      this.free(list);
    }
  }

  /** The start of a string, at most so many UTF-16 units: the rest is neither decoded nor copied. Empty when there is no memory. */
  textUpTo(ptr: Pointer, maxChars: number): string {
    if (this.stringLength(ptr) <= maxChars) return this.stringOf(ptr) ?? '';
    const start = this.tryInternal('sliceText', this.duplicate(ptr), this.newNumber(0), this.newNumber(maxChars));
    return this.#takeText(start) ?? '';
  }

  /** A symbol as the language writes it. */
  symbolText(ptr: Pointer, maxChars: number): string {
    const { ok, value } = this.tryInternal('symbolText', this.duplicate(ptr));
    const text = ok && this.kindOf(value) === 'string' ? this.textUpTo(value, maxChars) : 'Symbol()';
    this.free(value);
    return text;
  }

  #takeText({ ok, value }: { ok: boolean; value: Pointer }): string | undefined {
    const text = ok && this.kindOf(value) === 'string' ? this.stringOf(value) : undefined;
    this.free(value);
    return text;
  }

  isLandmark(ptr: Pointer, landmark: Landmark): boolean {
    return this.identity(ptr) === this.#landmarks.get(landmark);
  }

  /** @internal */
  onInterrupt(): boolean {
    return this.#calls.hooks.interrupt();
  }

  #outcome(result: Pointer): { ok: boolean; value: Pointer } {
    if (this.exports.qjs_is_exception(result) === 0) return { ok: true, value: result };
    this.free(result);
    return { ok: false, value: this.exports.qjs_get_exception() };
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

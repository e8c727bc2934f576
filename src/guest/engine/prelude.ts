import { MAX_RANDOM_BYTES } from '../limits.js';

/** Operations that the prelude asks of the host, by number. A guest has no way to the function that carries them. */
export const HOST_OP = {
  log: 0,
  callTool: 1,
  setTimer: 2,
  clearTimer: 3,
  randomBytes: 4,
  parseUrl: 5,
  changeUrl: 6,
  parseQuery: 7,
  formatQuery: 8,
} as const;

/** What stack frames of the prelude are attributed to, so that they can be left out of what an author sees. */
export const PRELUDE_FILE = 'sallyport:prelude';

/**
 * Runs once in a fresh heap, before any guest code: takes its own copies of the intrinsics it needs, removes what a guest
 * must not have, adds the globals that the engine lacks, and returns the few functions that the host calls later. What they do does
 * not depend on what a guest does to prototypes and globals afterwards; `fire` calls back into the guest, as a timer must.
 */
export const PRELUDE_SOURCE = `(function (host) {
'use strict';
const { apply, defineProperty, ownKeys, getOwnPropertyDescriptor } = Reflect;
const uncurry = (method) => (self, ...args) => apply(method, self, args);
const $Error = Error, $TypeError = TypeError, $RangeError = RangeError, $Map = Map, $String = String;
const $Object = Object, $Uint8Array = Uint8Array, freeze = Object.freeze, create = Object.create;
const parse = JSON.parse, stringify = JSON.stringify, isView = ArrayBuffer.isView;
const mapGet = uncurry(Map.prototype.get), mapSet = uncurry(Map.prototype.set), mapDelete = uncurry(Map.prototype.delete);
const mapForEach = uncurry(Map.prototype.forEach), setForEach = uncurry(Set.prototype.forEach);
const push = uncurry(Array.prototype.push), sort = uncurry(Array.prototype.sort);
const padStart = uncurry(String.prototype.padStart), numberToString = uncurry(Number.prototype.toString);
const sliceText = uncurry(String.prototype.slice), symbolText = uncurry(Symbol.prototype.toString);
const toISOString = uncurry(Date.prototype.toISOString), getTime = uncurry(Date.prototype.getTime);
const getter = (object, key) => uncurry(getOwnPropertyDescriptor(object, key).get);
const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
const bufferOf = getter(typedArray, 'buffer'), offsetOf = getter(typedArray, 'byteOffset');
const lengthOf = getter(typedArray, 'byteLength'), tagOf = getter(typedArray, Symbol.toStringTag);
const fill = uncurry(typedArray.set);
const stackDescriptor = getOwnPropertyDescriptor(Error.prototype, 'stack');
const readStack = stackDescriptor && stackDescriptor.get ? uncurry(stackDescriptor.get) : (error) => error.stack;
const iteratorSymbol = Symbol.iterator;
const internalErrorPrototype = InternalError.prototype;
// Lists are written by hand: for a list, stringify asks the guest's Array.prototype for a toJSON; for text it asks nobody.
const listText = (list, write) => {
  let text = '';
  for (let i = 0; i < list.length; i += 1) text += (i > 0 ? ',' : '') + write(list[i]);
  return '[' + text + ']';
};
const pairText = (pair) => listText(pair, stringify);

const hide = (object, key, value) =>
  defineProperty(object, key, { value, writable: true, enumerable: false, configurable: true });
const show = (object, key, value) =>
  defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
// Methods are made this way so that they are named, are no constructors and carry no prototype.
const define = (object, methods) => {
  for (const key of ownKeys(methods)) {
    const descriptor = getOwnPropertyDescriptor(methods, key);
    descriptor.enumerable = false;
    defineProperty(object, key, descriptor);
  }
};

// --- what a guest must not have -------------------------------------------------------------------------------------
for (const name of ['InternalError', 'SharedArrayBuffer', 'performance', 'gc', 'navigator', 'print', 'scriptArgs']) {
  delete globalThis[name];
}
delete internalErrorPrototype.constructor;
// A stack hook sees the frames below it, the host's function among them: it may read their names and places, not take them.
Error.prepareStackTrace = (error, frames) => frames;
const callSitePrototype = Object.getPrototypeOf(new Error().stack[0]);
Error.prepareStackTrace = undefined;
delete callSitePrototype.getFunction;
// The extension makes it enumerable; of the globals only the tools are.
hide(globalThis, 'structuredClone', structuredClone);

// --- Math.random: the heap is restored from one image, so each run gets a seed of its own ---------------------------
let a = 1, b = 2, c = 3, d = 4;
const next = () => {
  const t = (a + b | 0) + d | 0;
  d = d + 1 | 0;
  a = b ^ b >>> 9;
  b = c + (c << 3) | 0;
  c = (c << 21 | c >>> 11) + t | 0;
  return t >>> 0;
};
define(Math, { random() { return (next() * 0x200000 + (next() >>> 11)) / 0x20000000000000; } });

// --- console ---------------------------------------------------------------------------------------------------------
const console = {};
for (const level of ['log', 'info', 'warn', 'error', 'debug', 'trace']) {
  // Without a spread, which would ask the guest's Array.prototype for an iterator.
  const { [level]: method } = { [level](...args) {
    const call = [${HOST_OP.log}];
    for (let i = 0; i < args.length; i += 1) push(call, args[i]);
    apply(host, undefined, call);
  } };
  show(console, level, method);
}
hide(globalThis, 'console', console);

// --- timers ----------------------------------------------------------------------------------------------------------
const timers = new $Map();
const start = (callback, delay, args, repeat) => {
  if (typeof callback !== 'function') throw new $TypeError('The first argument of a timer must be a function');
  const ms = +delay;
  const id = host(${HOST_OP.setTimer}, ms >= 1 ? (ms > 0x7fffffff ? 1 : ms) : (repeat ? 1 : 0));
  if (id < 0) throw new $RangeError('Too many timers are pending');
  mapSet(timers, id, { callback, args, repeat });
  return id;
};
const stop = (id) => {
  if (typeof id === 'number' && mapDelete(timers, id)) host(${HOST_OP.clearTimer}, id);
};
define(globalThis, {
  setTimeout(callback, delay, ...args) { return start(callback, delay, args, false); },
  setInterval(callback, delay, ...args) { return start(callback, delay, args, true); },
  clearTimeout(id) { stop(id); },
  clearInterval(id) { stop(id); },
});
const fire = (id) => {
  const timer = mapGet(timers, id);
  if (timer === undefined) return false;
  if (!timer.repeat) mapDelete(timers, id);
  apply(timer.callback, undefined, timer.args);
  return timer.repeat && mapGet(timers, id) === timer;
};

// --- crypto ----------------------------------------------------------------------------------------------------------
const INTEGER_ARRAYS = { __proto__: null, Int8Array: 1, Uint8Array: 1, Uint8ClampedArray: 1, Int16Array: 1, Uint16Array: 1,
  Int32Array: 1, Uint32Array: 1, BigInt64Array: 1, BigUint64Array: 1 };
const crypto = {};
define(crypto, {
  getRandomValues(array) {
    if (!isView(array) || INTEGER_ARRAYS[tagOf(array)] !== 1) throw new $TypeError('getRandomValues needs an integer typed array');
    const size = lengthOf(array);
    if (size > ${MAX_RANDOM_BYTES}) throw new $RangeError('getRandomValues fills at most ${MAX_RANDOM_BYTES} bytes at once');
    fill(new $Uint8Array(bufferOf(array), offsetOf(array), size), new $Uint8Array(host(${HOST_OP.randomBytes}, size)));
    return array;
  },
  randomUUID() {
    const bytes = new $Uint8Array(host(${HOST_OP.randomBytes}, 16));
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let text = '';
    for (let i = 0; i < 16; i += 1) {
      if (i === 4 || i === 6 || i === 8 || i === 10) text += '-';
      text += padStart(numberToString(bytes[i], 16), 2, '0');
    }
    return text;
  },
});
hide(globalThis, 'crypto', crypto);

// --- URL and URLSearchParams: the parsing is the host's, on text alone ----------------------------------------------
const updates = new WeakMap(), getUpdate = uncurry(WeakMap.prototype.get), setUpdate = uncurry(WeakMap.prototype.set);
class URLSearchParams {
  #pairs = [];
  constructor(init = '') {
    if (init !== null && typeof init === 'object' || typeof init === 'function') {
      if (init[iteratorSymbol] != null) {
        for (const entry of init) {
          const pair = [...entry];
          if (pair.length !== 2) throw new $TypeError('Each query pair must have exactly two parts');
          push(this.#pairs, [$String(pair[0]), $String(pair[1])]);
        }
      } else {
        for (const key of ownKeys(init)) {
          const descriptor = getOwnPropertyDescriptor(init, key);
          if (descriptor && descriptor.enumerable) push(this.#pairs, [$String(key), $String(init[key])]);
        }
      }
    } else {
      this.#pairs = parse(host(${HOST_OP.parseQuery}, $String(init)));
    }
  }
  #changed() { const update = getUpdate(updates, this); if (update) update(this.toString()); }
  static { replacePairs = (params, text) => { params.#pairs = parse(host(${HOST_OP.parseQuery}, text)); }; }
  get size() { return this.#pairs.length; }
  append(name, value) { push(this.#pairs, [$String(name), $String(value)]); this.#changed(); }
  delete(name, value) {
    const kept = [];
    for (let i = 0; i < this.#pairs.length; i += 1) {
      const pair = this.#pairs[i];
      if (pair[0] !== $String(name) || value !== undefined && pair[1] !== $String(value)) push(kept, pair);
    }
    this.#pairs = kept;
    this.#changed();
  }
  get(name) {
    for (let i = 0; i < this.#pairs.length; i += 1) if (this.#pairs[i][0] === $String(name)) return this.#pairs[i][1];
    return null;
  }
  getAll(name) {
    const found = [];
    for (let i = 0; i < this.#pairs.length; i += 1) if (this.#pairs[i][0] === $String(name)) push(found, this.#pairs[i][1]);
    return found;
  }
  has(name, value) {
    for (let i = 0; i < this.#pairs.length; i += 1) {
      if (this.#pairs[i][0] === $String(name) && (value === undefined || this.#pairs[i][1] === $String(value))) return true;
    }
    return false;
  }
  set(name, value) {
    const kept = [];
    let done = false;
    for (let i = 0; i < this.#pairs.length; i += 1) {
      const pair = this.#pairs[i];
      if (pair[0] !== $String(name)) push(kept, pair);
      else if (!done) { push(kept, [$String(name), $String(value)]); done = true; }
    }
    if (!done) push(kept, [$String(name), $String(value)]);
    this.#pairs = kept;
    this.#changed();
  }
  sort() { sort(this.#pairs, (x, y) => x[0] < y[0] ? -1 : x[0] > y[0] ? 1 : 0); this.#changed(); }
  toString() { return host(${HOST_OP.formatQuery}, listText(this.#pairs, pairText)); }
  forEach(callback, self) {
    for (let i = 0; i < this.#pairs.length; i += 1) apply(callback, self, [this.#pairs[i][1], this.#pairs[i][0], this]);
  }
  *entries() { for (let i = 0; i < this.#pairs.length; i += 1) yield [this.#pairs[i][0], this.#pairs[i][1]]; }
  *keys() { for (let i = 0; i < this.#pairs.length; i += 1) yield this.#pairs[i][0]; }
  *values() { for (let i = 0; i < this.#pairs.length; i += 1) yield this.#pairs[i][1]; }
}
var replacePairs;
hide(URLSearchParams.prototype, iteratorSymbol, URLSearchParams.prototype.entries);
defineProperty(URLSearchParams.prototype, Symbol.toStringTag, { value: 'URLSearchParams', configurable: true });

const FIELDS = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'hash'];
class URL {
  #parts;
  #params;
  constructor(url, base) {
    const found = host(${HOST_OP.parseUrl}, $String(url), base === undefined ? undefined : $String(base));
    if (found === undefined) throw new $TypeError('Invalid URL');
    this.#parts = parse(found);
  }
  static canParse(url, base) {
    return host(${HOST_OP.parseUrl}, $String(url), base === undefined ? undefined : $String(base)) !== undefined;
  }
  static parse(url, base) { return URL.canParse(url, base) ? new URL(url, base) : null; }
  static {
    readPart = (url, index) => url.#parts[index];
    changePart = (url, name, value) => {
      const changed = host(${HOST_OP.changeUrl}, url.#parts[0], name, $String(value));
      if (changed === undefined) throw new $TypeError('Invalid URL');
      url.#parts = parse(changed);
      if (url.#params !== undefined) replacePairs(url.#params, url.#parts[9]);
    };
    hrefOf = (value) => typeof value === 'object' && value !== null && #parts in value ? value.#parts[0] : undefined;
  }
  get searchParams() {
    if (this.#params === undefined) {
      this.#params = new URLSearchParams(this.#parts[9]);
      setUpdate(updates, this.#params, (text) => {
        this.#parts = parse(host(${HOST_OP.changeUrl}, this.#parts[0], 'search', text));
      });
    }
    return this.#params;
  }
  toString() { return this.#parts[0]; }
  toJSON() { return this.#parts[0]; }
}
var readPart, changePart, hrefOf;
for (let index = 0; index < FIELDS.length; index += 1) {
  const name = FIELDS[index];
  const accessors = name === 'origin'
    ? { get [name]() { return readPart(this, index); } }
    : { get [name]() { return readPart(this, index); }, set [name](value) { changePart(this, name, value); } };
  defineProperty(URL.prototype, name, { ...getOwnPropertyDescriptor(accessors, name), enumerable: true });
}
defineProperty(URL.prototype, Symbol.toStringTag, { value: 'URL', configurable: true });
hide(globalThis, 'URL', URL);
hide(globalThis, 'URLSearchParams', URLSearchParams);

// --- what the host calls ---------------------------------------------------------------------------------------------
return {
  seed(w, x, y, z) { a = w | 0; b = x | 0; c = y | 0; d = z | 0; for (let i = 0; i < 12; i += 1) next(); },
  install(namespace, names, first) {
    const list = parse(names);
    const tools = create(null);
    for (let i = 0; i < list.length; i += 1) {
      const index = first + i;
      const { [list[i]]: tool } = { [list[i]]: (input) => host(${HOST_OP.callTool}, index, input) };
      defineProperty(tools, list[i], { value: tool, enumerable: true, writable: false, configurable: false });
    }
    defineProperty(globalThis, namespace, { value: freeze(tools), enumerable: true, writable: false, configurable: false });
  },
  makeError(code, message) {
    const error = new $Error(message);
    hide(error, 'code', code);
    return error;
  },
  fire,
  parse,
  readStack(error) { const stack = readStack(error); return typeof stack === 'string' ? stack : ''; },
  dateText(date) { return getTime(date) === getTime(date) ? toISOString(date) : 'Invalid Date'; },
  mapEntries(map) { const all = []; mapForEach(map, (value, key) => { push(all, [key, value]); }); return all; },
  setValues(set) { const all = []; setForEach(set, (value) => { push(all, value); }); return all; },
  hrefOf,
  globals() {
    const keys = ownKeys(globalThis);
    let text = '';
    // There are some 80; a guest can add any number.
    for (let i = 0; i < keys.length && i < 1000; i += 1) {
      if (typeof keys[i] === 'string' && keys[i].length <= 100) text += (text === '' ? '' : ',') + stringify(keys[i]);
    }
    return '[' + text + ']';
  },
  sliceText,
  symbolText,
  ownKeys,
  objectPrototype: $Object.prototype,
  arrayPrototype: Array.prototype,
  internalErrorPrototype,
};
})`;

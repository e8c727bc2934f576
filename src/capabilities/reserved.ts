/** Words that no binding may have: keywords, literals, and what strict mode, modules and the future reserve. */
export const RESERVED_WORDS: ReadonlySet<string> = new Set(
  `arguments await break case catch class const continue debugger default delete do else enum eval export extends false
  finally for function if implements import in instanceof interface let new null package private protected public return
  static super switch this throw true try typeof var void while with yield`.split(/\s+/),
);

/** Globals that guest code counts on. A namespace of the same name would hide them. */
export const GUEST_GLOBALS: ReadonlySet<string> = new Set(
  `globalThis undefined NaN Infinity
  Object Function Boolean Symbol Number BigInt Math Date String RegExp JSON Reflect Proxy Atomics Intl Temporal WebAssembly
  Array Map Set WeakMap WeakSet WeakRef FinalizationRegistry Iterator AsyncIterator
  ArrayBuffer SharedArrayBuffer DataView Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array
  Uint32Array Float16Array Float32Array Float64Array BigInt64Array BigUint64Array
  Promise Generator GeneratorFunction AsyncFunction AsyncGenerator AsyncGeneratorFunction
  Error AggregateError EvalError RangeError ReferenceError SyntaxError TypeError URIError SuppressedError InternalError
  DisposableStack AsyncDisposableStack
  isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape unescape
  console setTimeout clearTimeout setInterval clearInterval setImmediate clearImmediate queueMicrotask structuredClone
  URL URLSearchParams URLPattern TextEncoder TextDecoder atob btoa performance crypto Crypto CryptoKey SubtleCrypto
  AbortController AbortSignal Event EventTarget CustomEvent MessageChannel MessagePort MessageEvent DOMException
  fetch Headers Request Response FormData Blob File WebSocket EventSource
  ReadableStream WritableStream TransformStream CompressionStream DecompressionStream
  global process require module exports Buffer self window navigator
  constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf then
  __proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__`.split(/\s+/),
);

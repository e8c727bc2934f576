import { FRAME_TIMEOUT_MS, MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES } from '../wire/index.js';

/** Every limit of the wasm room, with its reason. `limits` of `openWasm` overrides any of them. */
export interface WasmLimits {
  /** Largest frame payload, either way. 16 MiB: any sensible call fits, and it is what one guest can make the host buffer. */
  readonly frameBytes: number;
  /** How long one frame may take to arrive. */
  readonly frameTimeoutMs: number;
  /** Deepest nesting of a message. */
  readonly depth: number;
  /** Most values in one message. */
  readonly values: number;
  /** Linear memory of the guest. 256 MiB runs every language's runtime with room for data. */
  readonly memoryBytes: number;
  /** Elements in all tables: real programs have one entry per function pointer, thousands at most. */
  readonly tableElements: number;
  /** Largest module. 64 MiB holds a Go or Python runtime; it is kept in memory once per client. */
  readonly moduleBytes: number;
  /** Imports, exports and tables of a module, each. Programs have dozens; every one becomes an object of the host. */
  readonly moduleEntries: number;
  /** From the start of the process until the module has been instantiated, where the runtime can tell. */
  readonly startTimeoutMs: number;
  /** Received chunks that wait for their consumers, all streams together. Beyond it the pipe is not read. */
  readonly streamBufferBytes: number;
  /** How long an unread stream may keep everything else of the guest waiting. */
  readonly stallMs: number;
  /** How long an open stream may go without a chunk, or without taking one. */
  readonly streamIdleMs: number;
  /** What a stream may still send after its consumer stopped: the protocol has no way to tell the guest. */
  readonly discardBytes: number;
  /** Bytes that may wait for a guest that does not read. A single larger frame may still go out on its own. */
  readonly backlogBytes: number;
  /** Calls of the guest to the host that may run at once. Beyond it the pipe is not read. */
  readonly concurrentCallbacks: number;
  /** What the parameters of those calls may cost together. Beyond it the pipe is not read, unless it is one call alone. */
  readonly callbackBytes: number;
  /** The end of standard error that errors carry. */
  readonly stderrBytes: number;
  /** How long a guest may take to leave after its input has ended. */
  readonly disposeGraceMs: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_LIMITS: WasmLimits = {
  frameBytes: MAX_FRAME_BYTES,
  frameTimeoutMs: FRAME_TIMEOUT_MS,
  depth: MAX_DEPTH,
  values: MAX_VALUES,
  memoryBytes: 256 * MIB,
  tableElements: 1_000_000,
  moduleBytes: 64 * MIB,
  moduleEntries: 10_000,
  startTimeoutMs: 10_000,
  streamBufferBytes: 4 * MIB,
  stallMs: 10_000,
  streamIdleMs: 60_000,
  discardBytes: 16 * MIB,
  backlogBytes: 16 * MIB,
  concurrentCallbacks: 1_024,
  callbackBytes: 64 * MIB,
  stderrBytes: 8 * 1024,
  disposeGraceMs: 1_000,
};

/** Default time of one call. Long enough for heavy work, short enough that a person waits for it. */
export const CALL_TIMEOUT_MS = 30_000;

/** Longest id of a message. Ids are counters or UUIDs; a megabyte is an attack on the maps that hold them. */
export const MAX_ID_CHARS = 1_024;

/** Longest function name. */
export const MAX_NAME_CHARS = 256;

/** Longest name of an import or export, in bytes: what V8 takes. */
export const MAX_MODULE_NAME_BYTES = 100_000;

/** Longest error text that is taken from the guest. */
export const MAX_ERROR_CHARS = 2_000;

/** How many ended calls of the guest are remembered, to notice an id that is used again. At least half as many are. */
export const REMEMBERED_IDS = 8_192;

/** How many streams are remembered that nobody reads any more and that the guest has not ended. */
export const REMEMBERED_DROPPED_STREAMS = 1_024;

/** What a container costs beyond its bytes on the wire: an empty map is one byte there and 56 in the heap. */
export const CONTAINER_COST_BYTES = 64;

/** Failed starts in a row before further ones have to wait. */
export const START_FAILURES_ALLOWED = 4;

/** The first pause after that; it doubles with each further failure. */
export const BACKOFF_FIRST_MS = 200;

/** The longest pause. */
export const BACKOFF_MAX_MS = 30_000;

/** A call waits for the end of a pause that is shorter than this, and is refused otherwise. */
export const BACKOFF_PATIENCE_MS = 1_000;

/** How long after a spare was taken the next one is started. */
export const REFILL_DELAY_MS = 20;

/** How long a guest whose output has ended may take to exit by itself, so that its exit code is known. */
export const EXIT_GRACE_MS = 500;

/** How often a guest that is to be replaced is asked whether it has finished. */
export const WATCH_INTERVAL_MS = 250;

/** Linear memory of a 32-bit module at most: what a room has place for. The limit of each guest narrows it. */
export const MAX_LINEAR_MEMORY_BYTES = 4 * 1024 * MIB;

/** Processes and threads of a confined guest: it starts none, and its runtime has eleven threads and one for the input. */
export const ROOM_PROCESSES = 32;

/** One page of linear memory. */
export const PAGE_BYTES = 64 * 1024;

/** What a runtime itself may use beside the linear memory of the guest. */
export const RUNTIME_OVERHEAD_BYTES = 1024 * MIB;

/** Fills in what is not given, and refuses what is not a count. */
export function completeLimits(given: Partial<WasmLimits> = {}): WasmLimits {
  const limits = { ...DEFAULT_LIMITS };
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!isLimit(name)) throw new TypeError(`limits.${name} is not a limit: ${Object.keys(DEFAULT_LIMITS).join(', ')}`);
    if (!Number.isSafeInteger(value) || value < 0)
      throw new TypeError(`limits.${name} must be a whole number, not ${value}`);
    Object.assign(limits, { [name]: value });
  }
  return limits;
}

function isLimit(name: string): name is keyof WasmLimits {
  return Object.hasOwn(DEFAULT_LIMITS, name);
}

import { MAX_DEPTH, MAX_VALUES } from '../wire/index.js';

/** How long a guest may run, from `started` to its end, waiting for tools included. */
export const DEFAULT_TIMEOUT_MS = 5_000;

/** The longest time limit that can be asked for: one hour. */
export const MAX_TIMEOUT_MS = 60 * 60 * 1000;

/** How much a guest may allocate. */
export const DEFAULT_MEMORY_LIMIT_BYTES = 64 * 1024 * 1024;

/** Below this no useful program runs: the program itself, its promise and one small value need some 20 KiB. */
export const MIN_MEMORY_LIMIT_BYTES = 64 * 1024;

/** The engine addresses 32 bits; half of that leaves room for its own bookkeeping. */
export const MAX_MEMORY_LIMIT_BYTES = 2 * 1024 * 1024 * 1024;

/** How many lines of log are kept, the earliest. */
export const DEFAULT_MAX_LOG_LINES = 100;
export const MAX_LOG_LINES = 1_000_000;

/** How many UTF-16 units of log are kept over all lines. They travel with the result, so they are part of {@link MESSAGE_BUDGET}. */
export const DEFAULT_MAX_LOG_CHARS = 64_000;
export const MAX_LOG_CHARS = 4 * 1024 * 1024;

/** The most stack the engine may use: 1,000 plain calls deep. Its frames take up to fifteen times that on the host's stack. */
export const ENGINE_STACK_BYTES = 256 * 1024;

/** The same for a guest that runs on the caller's own stack of 984 KiB. */
export const INLINE_STACK_BYTES = 64 * 1024;

/** The host stack that goes with {@link ENGINE_STACK_BYTES}, in MiB for a thread and in KiB for a process. */
export const THREAD_STACK_MIB = 16;
export const PROCESS_STACK_KIB = 6 * 1024;

/** An engine whose heap grew beyond this is thrown away after the run: copying it back would cost more than a new one. */
export const MAX_IDLE_HEAP_BYTES = 8 * 1024 * 1024;

/** How many random bytes a guest gets at once, as in browsers. */
export const MAX_RANDOM_BYTES = 65_536;

/**
 * How many UTF-16 units a URL, a query, or the JSON of a query's pairs may have. The host parses them, in memory that no limit of
 * the guest counts.
 */
export const MAX_URL_CHARS = 1_048_576;

/** How many pairs a query may have: as two characters each the largest query would take some 100 MiB of the host. */
export const MAX_QUERY_PAIRS = 65_536;

/** How many timers of one run may be pending. */
export const MAX_PENDING_TIMERS = 10_000;

/** How many tool calls of one run may be in flight. */
export const MAX_PENDING_TOOL_CALLS = 10_000;

/** How long a `callId` may be; a UUID has 36 characters. */
export const MAX_CALL_ID_CHARS = 256;

/**
 * How many ids of answered calls a host remembers, so that no call is run twice: the latest. With the longest ids they take 8 MiB.
 * Those of calls that are in flight are remembered besides.
 */
export const MAX_REMEMBERED_CALL_IDS = 16_384;

/** How many jobs of the guest run before the clock is looked at. */
export const JOBS_PER_CLOCK_CHECK = 64;

/** How much is read of what a guest throws, in UTF-16 units: of its name and message together, and of its stack. */
export const MAX_ERROR_TEXT_CHARS = 8_192;

/** How much of the message and of the stack of a runner's error is kept: what is read of them, with room for a hint. */
export const MAX_RUNNER_ERROR_CHARS = 2 * MAX_ERROR_TEXT_CHARS;

/** How long after the time limit an answer may come before the shell around the guest is killed. */
export const KILL_GRACE_MS = 250;

/** How long a runner may take from being asked to `started`. */
export const START_TIMEOUT_MS = 10_000;

/** How long a thread or process may take to have its engine ready: some 100 ms, far more on a machine that is overloaded. */
export const SHELL_START_TIMEOUT_MS = 30_000;

/**
 * Largest program accepted, in UTF-8 bytes. A model's program is a few KiB; one MiB leaves room for inlined data, and
 * bounds what the parser and the engine's compiler are asked to do.
 */
export const DEFAULT_MAX_CODE_BYTES = 1_048_576;

/**
 * Deepest nesting accepted, in grammar steps: a statement, an expression, an operand and an atom are one each, so a pair of
 * parentheses costs three and a function inside a function seven. The engine compiles on a stack of 512 KiB: it gives up at about
 * 1,750 such steps, and nested functions without a block between them trap its instance at 1,868. Code that people write
 * stays below 200.
 */
export const DEFAULT_MAX_CODE_DEPTH = 1_000;

/**
 * Grammar steps the parser may take per character of source. Plain JavaScript takes fewer than four; TypeScript's type
 * assertions make the parser try a reading and go back, and nested ones double the work at each level.
 */
export const MAX_PARSE_STEPS_PER_CHARACTER = 16;

/** Grammar steps that any program may take, however short. */
export const MIN_PARSE_STEPS = 10_000;

/** Frames kept of a guest's stack trace: enough to find the fault, too few to flood a log. */
export const MAX_STACK_FRAMES = 20;

/** Characters kept of a function name in a stack trace. A guest can name a function with any string. */
export const MAX_FRAME_NAME_CHARS = 100;

/** Characters of the author's line that a source frame shows: what fits a terminal. */
export const MAX_SOURCE_FRAME_CHARS = 120;

/** How many tools the manifests of one execution may name. */
export const MAX_MANIFEST_TOOLS = 10_000;

/**
 * How many UTF-16 units of tool input may be on their way at once: a guest can send one large string many times. As JSON they take up
 * to 192 MiB, which the pipe of a child and the heap around its engine have to hold.
 */
export const MAX_PENDING_INPUT_CHARS = 32 * 1024 * 1024;

/** The same in values, of which the smallest have no characters: four inputs of the largest kind. */
export const MAX_PENDING_INPUT_VALUES = 4 * MAX_VALUES;

/** How long a cancelled guest may take to unwind: enough for `finally` blocks, not for work. */
export const CANCEL_UNWIND_MS = 20;

/** What the runtime around an engine may take of its own heap: messages in both directions, and the parser's work. */
export const THREAD_HEAP_MIB = 512;
export const PROCESS_HEAP_MIB = 512;

/** What the runtime of a confined shell takes beside its heap and the guest's: code, stacks, buffers. */
export const ROOM_OVERHEAD_BYTES = 256 * 1024 * 1024;

/** Processes and threads of a confined shell: it starts none, and its runtime has eleven threads. */
export const ROOM_PROCESSES = 32;

/** How many executions may wait for a shell. */
export const MAX_QUEUED_EXECUTIONS = 10_000;

/** How long a runner elsewhere may take to end after a cancel: a network lies in between. */
export const REMOTE_CANCEL_GRACE_MS = 2_000;

/** UTF-16 units of all strings and keys of one value that a guest sends. */
export const MAX_VALUE_CHARS = 16 * 1024 * 1024;

/** A control character is six bytes as JSON. */
const JSON_BYTES_PER_CHAR = 6;
/** The longest number is 24 bytes, and something separates it from the next. */
const JSON_BYTES_PER_VALUE = 26;

/**
 * What one message of the protocol may cost to decode. The largest value that a guest may send must fit, with all its logs and the
 * envelope around them.
 */
export const MESSAGE_BUDGET = {
  bytes:
    JSON_BYTES_PER_CHAR * (MAX_VALUE_CHARS + MAX_LOG_CHARS) +
    JSON_BYTES_PER_VALUE * MAX_VALUES +
    3 * MAX_LOG_LINES +
    64 * 1024,
  depth: MAX_DEPTH + 8,
  values: MAX_VALUES + MAX_LOG_LINES + 64,
} as const;

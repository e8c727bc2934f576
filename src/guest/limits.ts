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

/** Characters of a guest's stack trace that are read. A guest can assign any string to `stack`. */
export const MAX_STACK_CHARS = 16_384;

/** Characters kept of a function name in a stack trace. A guest can name a function with any string. */
export const MAX_FRAME_NAME_CHARS = 100;

/** Characters of the author's line that a source frame shows: what fits a terminal. */
export const MAX_SOURCE_FRAME_CHARS = 120;

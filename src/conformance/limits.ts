/** What one check may take, the start of its target included. Generous: a slow machine must not fail anybody. */
export const DEFAULT_CHECK_LIMIT_MS = 10_000;

/** What a check may take beyond its limit before it is given up: waits inside it end at the limit and say what they waited for. */
export const CHECK_GRACE_MS = 1_000;

/** How long nothing has to happen at least before it counts as not happening. Twenty times a slow round trip over a pipe. */
export const QUIET_MS = 150;

/** The same at most. In between, it is as long as the check has waited for anything so far: a busy machine is slow to misbehave, too. */
export const MAX_QUIET_MS = 3_000;

/** How many checks run at once: two, so that a machine with two cores is busy and not crowded. */
export const DEFAULT_JOBS = 2;

/** How long a target may take to end by itself once its input is closed; then it is killed. */
export const END_GRACE_MS = 100;

/** How long a check may take to clean up with the help of its target. What is left then is ended without. */
export const CLEAN_UP_MS = 1_000;

/** How many times it is looked for processes that bear the mark of a check: those that are ended may have started others. */
export const STRAY_LOOKS = 50;

/** The pause between two such looks; the kernel needs about a millisecond to tear a process down. */
export const STRAY_PAUSE_MS = 5;

/** How many times a folder is tried to be removed in which somebody may still write. */
export const REMOVE_TRIES = 5;

/** The first pause between two such tries; each is longer than the one before. */
export const REMOVE_PAUSE_MS = 50;

/** Messages that one connection may send in one check. Beyond that a target only fills our memory. */
export const MAX_MESSAGES = 100_000;

/** Entries of one transcript; later ones are counted. A reader does not read more. */
export const MAX_TRANSCRIPT_ENTRIES = 1_000;

/** Characters of one message in a transcript or a failure. */
export const MAX_SHOWN_CHARS = 2_000;

/** The end of a target's standard error that is kept: it stands at the end of a failure, which must have room for all of it. */
export const MAX_STDERR_CHARS = 1_500;

/** Largest HTTP body that is read. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** Where processes run and write unless the command line says otherwise. */
export const DEFAULT_FOLDER = '/tmp';

/** A `waitMs` that runs out within a check. */
export const SHORT_WAIT_MS = 100;

/** How long a shell sleeps when it is to run until it is ended. It ends by itself at last, so that nothing is left for ever. */
export const FOREVER_S = 60;

/** The same for a shell that is to stay awake for signals: as long, in steps. */
export const AWAKE_STEPS = 1_200;

/** Time between two signs of life of a process that is watched. */
export const BEAT_S = 0.05;

/** How long no sign of life has to come before a process counts as ended: eight beats. */
export const NO_BEAT_S = 0.4;

/** Signs of life before a process that nobody ended ends itself: half a minute. */
export const MAX_BEATS = 600;

/** Lines of output, 1.6 MB, that exceed what servers of this protocol keep for a process: 1 MiB in the original. */
export const FLOOD_LINES = 250_000;

/** The bytes of the numbers from 1 to that, a line each: 9 of one digit, 90 of two and so on. */
export const FLOOD_BYTES = 9 * 2 + 90 * 3 + 900 * 4 + 9_000 * 5 + 90_000 * 6 + (FLOOD_LINES - 99_999) * 7;

/** Messages of the log that a failure shows. */
export const SHOWN_MESSAGES = 3;

/** Pause before a session that still counts as attached is asked for again. */
export const RETRY_MS = 50;

/** How long output is waited for that a process writes 0.4 s after its starter has ended, and that must not come any more. */
export const AFTERWARDS_MS = 2_000;

/** How long a server may take to answer `initialize`, in milliseconds. A cold start of a server takes well under a second. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;

/** How long a lost session is tried to be resumed, in milliseconds: what a server keeps it for. */
export const RESUME_TIMEOUT_MS = 30_000;

/** The first pause between two attempts to resume, in milliseconds; each is twice as long as the one before. */
export const RESUME_PAUSE_MS = 50;

/** The longest such pause, in milliseconds. */
export const RESUME_PAUSE_MAX_MS = 2_000;

/** Output of one process that waits for somebody to read it before the server is held back, in bytes. */
export const CLIENT_BUFFER_BYTES = 1024 * 1024;

/** Events that wait for a slow consumer of `events()` before the oldest is dropped, or for the answer to the start that they belong to. */
export const CLIENT_BUFFER_EVENTS = 1_024;

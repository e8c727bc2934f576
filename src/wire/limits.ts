/** How deep a decoded document may nest. Real messages stay below 10; 64 keeps every recursive consumer far from the stack's end. */
export const MAX_DEPTH = 64;

/** How many values one document may hold. A value costs up to 100 bytes of heap, so 256 Ki values bound it to some 25 MB. */
export const MAX_VALUES = 256 * 1024;

/** The largest message of any transport, in bytes: 64 MiB, as the process protocol's clients expect. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** How many bytes may wait for a peer that does not read before the transport gives up on it. */
export const MAX_BACKLOG_BYTES = 64 * 1024 * 1024;

/** From this many waiting bytes on, `send` returns a promise that resolves when the peer has caught up. */
export const SEND_HIGH_WATER_BYTES = 256 * 1024;

/** How many messages a `MessagePort` peer may be behind before `send` asks the sender to wait. */
export const PORT_WINDOW_MESSAGES = 1024;

/** A port's receiver acknowledges in steps of this size: a quarter of the window, so that a steady sender never stalls. */
export const PORT_ACK_EVERY = PORT_WINDOW_MESSAGES / 4;

/** How many messages wait in an in-memory pair before `send` asks the sender to wait. */
export const PAIR_WINDOW_MESSAGES = 64;

/** How long a WebSocket client waits for the connection to open, in milliseconds. */
export const CONNECT_TIMEOUT_MS = 10_000;

/** How long a WebSocket waits for the peer's half of the closing handshake before the socket is destroyed, in milliseconds. */
export const CLOSE_TIMEOUT_MS = 2_000;

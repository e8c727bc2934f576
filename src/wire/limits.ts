/** Every limit of the wire room, with its reason. Each can be set per transport or per call. */

/** Largest frame payload, either way. 16 MiB holds any sensible call, and is what one peer can make a host buffer. */
export const MAX_FRAME_BYTES = 16 * 1024 * 1024;

/** How long a frame may take from its first byte to its last. 16 MiB in 10 s is 1.6 MiB/s: slow even for a loaded pipe. */
export const FRAME_TIMEOUT_MS = 10_000;

/** Deepest nesting of arrays and maps. Real messages stay below 20; code that walks a value recursively is safe at 64. */
export const MAX_DEPTH = 64;

/** The most that a depth limit can be raised to: the codecs recurse, and 512 levels take 150 to 200 KB of a stack of 984 KB. */
export const DEPTH_CEILING = 512;

/** Most values in one message, containers included. As empty maps they take 17 MiB of heap, as empty binaries 49 MiB. */
export const MAX_VALUES = 256 * 1024;

/** Most bytes that wait for a peer that does not read: four frames of the largest size. */
export const MAX_BACKLOG_BYTES = 4 * MAX_FRAME_BYTES;

/** The largest message of any transport, in bytes: 64 MiB, as the process protocol's clients expect. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

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

/** How long a peer whose input has broken is still listened to, in milliseconds: its last words are in the pipe already. */
export const LAST_WORDS_MS = 2_000;

/** The largest value that crosses a boundary, in UTF-8 bytes of its strings and keys plus 8 for each value. */
export const MAX_VALUE_BYTES = 16 * 1024 * 1024;

/** How many WebSocket connections one listener holds open: far more than an agent needs, far fewer than there are handles. */
export const MAX_CONNECTIONS = 256;

/** How many connections beyond that may be on their way through the upgrade, so that they can be told why they are refused. */
export const SPARE_CONNECTIONS = 32;

/** How long the headers of an upgrade may take, in milliseconds. */
export const UPGRADE_TIMEOUT_MS = 10_000;

/** Most bytes of request headers. Real clients send well under one KiB. */
export const MAX_HEADER_BYTES = 16 * 1024;

/** After how much silence the kernel asks whether a peer still exists, in milliseconds. */
export const KEEP_ALIVE_DELAY_MS = 30_000;

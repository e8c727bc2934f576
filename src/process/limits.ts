import { MAX_DEPTH, MAX_MESSAGE_BYTES, MAX_VALUES } from '../wire/index.js';

/** Every limit of the process boundary. Each can be set for a server; the defaults below say why they are what they are. */
export interface ProcessLimits {
  /** Largest message, in bytes. */
  readonly messageBytes: number;
  /** JSON values in one message. */
  readonly messageValues: number;
  /** Nesting of one message. */
  readonly messageDepth: number;
  /** Characters of an id that a client chooses: of a request, process, write, handle or HTTP request. */
  readonly idLength: number;
  /** Processes of one session that are not closed yet. */
  readonly processes: number;
  /** Output that is kept per process, in bytes. */
  readonly retainedBytes: number;
  /** Pieces of output that are kept per process. */
  readonly retainedChunks: number;
  /** Arguments of a process that are kept for `process/list`, in bytes. */
  readonly listedArgvBytes: number;
  /** Output that is kept for all closed processes of a session together, in bytes. */
  readonly retainedClosedBytes: number;
  /** Closed processes of a session that can still be asked about. */
  readonly retainedClosed: number;
  /** How long a closed process can be asked about, in milliseconds. */
  readonly retentionMs: number;
  /** Largest piece of output in one message of the first dialect, in bytes. */
  readonly firstChunkBytes: number;
  /** Largest piece of output in one message of the later dialect, in bytes. */
  readonly laterChunkBytes: number;
  /** How much may wait to be sent before children are stopped, in bytes. */
  readonly sendWindowBytes: number;
  /** How much may wait for a client that asks but never reads before it is cut off, in bytes, beside one answer that is larger. */
  readonly backlogBytes: number;
  /** Requests of one connection that are not answered yet. */
  readonly pendingRequests: number;
  /** Longest wait of `process/read` and `process/wait`, in milliseconds. Longer ones are cut to it. */
  readonly waitMs: number;
  /** Writes per process whose ids are remembered. */
  readonly writeIds: number;
  /** How long a session outlives its connection, in milliseconds. */
  readonly detachMs: number;
  /** Detached sessions of one server. The oldest goes when there are more. */
  readonly detachedSessions: number;
  /** Open file handles of one session. */
  readonly fileHandles: number;
  /** Largest block that `fs/readBlock` reads, in bytes. */
  readonly readBlockBytes: number;
  /** Largest file that `fs/readFile` reads in one piece, in bytes. */
  readonly readFileBytes: number;
  /** Entries that `fs/readDirectory` lists. */
  readonly directoryEntries: number;
  /** How deep a tree may be that `fs/remove` or `fs/copy` goes through at once. */
  readonly treeDepth: number;
  /** Requests of `fs/*` of one session that are carried out at once; the others wait. */
  readonly fileRequests: number;
  /**
   * Content of files, and bodies of HTTP responses, that one session has read and that have not left yet, in bytes. One of any
   * size is let in when no other is.
   */
  readonly fileBytes: number;
  readonly walkDepth: number;
  readonly walkDirectories: number;
  readonly walkEntries: number;
  /** Paths in the answer to one `fs/walk`, in bytes. */
  readonly walkBytes: number;
  /** Folders, entries and rules of a `sandbox` that a client describes. */
  readonly sandboxRules: number;
  /** HTTP requests of one session at once. */
  readonly httpRequests: number;
  /** Bytes of request headers, and of response headers. */
  readonly httpHeaderBytes: number;
  /** Number of request headers. */
  readonly httpHeaders: number;
  /** Largest response body that is not streamed, in bytes. */
  readonly httpBodyBytes: number;
  /** Longest HTTP request, and the time it gets when it names none, in milliseconds. */
  readonly httpTimeoutMs: number;
  readonly httpRedirects: number;
}

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_PROCESS_LIMITS: ProcessLimits = {
  // What clients of the protocol expect to be able to send.
  messageBytes: MAX_MESSAGE_BYTES,
  messageValues: MAX_VALUES,
  messageDepth: MAX_DEPTH,
  // Ids are UUIDs or short names in practice; each is kept and echoed.
  idLength: 1_024,
  // Three handles each, with room to spare below the usual limit of 1,024 handles.
  processes: 256,
  // The protocol's figure. 256 processes keep at most 256 MiB.
  retainedBytes: MIB,
  // A process that writes single bytes would have a million of them otherwise, and each costs some 50 bytes more.
  retainedChunks: 32 * KIB,
  // A script in one argument is told by its beginning. With all that is kept of closed processes it is 10 MiB.
  listedArgvBytes: 8 * KIB,
  // A session that runs thousands of commands keeps the output of the last ones only.
  retainedClosedBytes: 8 * MIB,
  retainedClosed: 1_024,
  // The protocol's figure.
  retentionMs: 30_000,
  // The protocol's figure.
  firstChunkBytes: 8 * KIB,
  // What one read of a pipe returns: a chunk is never split, and never joined.
  laterChunkBytes: 64 * KIB,
  // Four chunks: enough that the pipe to the client never runs dry, little enough that an answer overtakes soon.
  sendWindowBytes: 256 * KIB,
  // Many answers of ordinary size; one that is larger is let through beside them.
  backlogBytes: 16 * MIB,
  // A long poll for each process, and as many other requests again.
  pendingRequests: 1_024,
  // A poll that waits longer would only hide a dead peer.
  waitMs: 5 * 60_000,
  // The protocol's figure.
  writeIds: 4_096,
  // The protocol's figure.
  detachMs: 30_000,
  // Each may keep its processes and their output; more than this many lost clients in 30 s is an attack.
  detachedSessions: 64,
  fileHandles: 128,
  // The protocol's figure.
  readBlockBytes: MIB,
  // As base64 it is 43 MiB, which fits one message.
  readFileBytes: 32 * MIB,
  // One or two handles are held for each level. Trees of real projects have about thirty.
  treeDepth: 256,
  // Node has four threads for files; each request keeps one busy at a time.
  fileRequests: 8,
  // As base64 it is 11 MiB: what leaves together leaves room for other answers in `backlogBytes`. Larger files leave alone.
  fileBytes: 8 * MIB,
  // The protocol's figures.
  directoryEntries: 50_000,
  walkDepth: 64,
  walkDirectories: 10_000,
  walkEntries: 50_000,
  // As URIs, in which each byte may be three, they fit one message. Ordinary paths need less for all entries.
  walkBytes: 16 * MIB,
  // Clients name a handful of folders with a few exceptions each. The place of every rule is asked of the system.
  sandboxRules: 1_024,
  httpRequests: 32,
  // Common servers accept 8 to 16 KiB.
  httpHeaderBytes: 32 * KIB,
  httpHeaders: 256,
  // As base64 it is 21 MiB; whoever expects more asks for a stream.
  httpBodyBytes: 16 * MIB,
  httpTimeoutMs: 5 * 60_000,
  httpRedirects: 10,
};

/** Fills in the defaults. */
export function processLimits(limits: Partial<ProcessLimits> = {}): ProcessLimits {
  return { ...DEFAULT_PROCESS_LIMITS, ...limits };
}

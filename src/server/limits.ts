import type { ToolLimits } from '../tool/index.js';

/** Every limit of the server room, with its reason. All can be set in the configuration under `limits`. */
export interface ServerLimits {
  /** Open connections in all. Each costs a handle and some 20 KiB; the rest of the usual 1,024 handles is for children. */
  readonly connections: number;
  /** Open connections of one address, so that one client cannot take them all. */
  readonly connectionsPerAddress: number;
  /** How long the headers of a request may take, in milliseconds. */
  readonly headersTimeoutMs: number;
  /** How long a request may take to arrive, body included, in milliseconds. */
  readonly requestTimeoutMs: number;
  /** How long a connection may wait for its next request, in milliseconds. Longer than the 60 s of common proxies. */
  readonly idleTimeoutMs: number;
  /** How long a WebSocket may be silent, pongs included, before it counts as dead, in milliseconds. */
  readonly socketIdleMs: number;
  /** Bytes of the body of `POST /run` and `POST /wasm/…`. */
  readonly bodyBytes: number;
  /** Nesting of such a body. */
  readonly bodyDepth: number;
  /** Values in such a body. */
  readonly bodyValues: number;
  /** Bytes that may wait for the reader of an event stream. */
  readonly streamBacklogBytes: number;
  /** How often a silent event stream sends a comment, so that proxies keep it open, in milliseconds. */
  readonly heartbeatMs: number;
  /** Readers of `GET /events` at once. */
  readonly eventReaders: number;
  /** Executions that `GET /executions` knows. The log has all of them. */
  readonly auditRecords: number;
  /** Capabilities that are kept per execution; further ones are counted, and logged like the others. */
  readonly auditCapabilities: number;
  /** Guests of `POST /run` at once, and of `WS /guest` at once. */
  readonly guests: number;
  /** Calls of `POST /run` that may wait for a guest. */
  readonly queuedRuns: number;
  /** Processes of Wasm guests at once, over all modules. */
  readonly wasmGuests: number;
  /** Calls of `POST /wasm/…` that may wait for a guest. */
  readonly queuedWasmCalls: number;
  /** How long a Wasm guest that was started ahead waits for a call, in milliseconds. */
  readonly wasmSpareMs: number;
  /** Bytes of chunks that the answer of `POST /wasm/…` collects when it is not read as events. */
  readonly collectedBytes: number;
}

/** The limits of the tool boundary on how a request arrives. On the one port for all boundaries the server's hold. */
export const ARRIVAL_LIMITS = [
  'maxHeaderBytes',
  'headersTimeoutMs',
  'requestTimeoutMs',
] as const satisfies readonly (keyof ToolLimits)[];

/** The limits of the tool boundary that can be set for a server. */
export type ServedToolLimits = Omit<ToolLimits, (typeof ARRIVAL_LIMITS)[number]>;

const KIB = 1024;
const MIB = 1024 * KIB;

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  connections: 512,
  connectionsPerAddress: 256,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 72_000,
  socketIdleMs: 120_000,
  bodyBytes: 10 * MIB,
  bodyDepth: 64,
  bodyValues: 256 * KIB,
  streamBacklogBytes: 4 * MIB,
  heartbeatMs: 15_000,
  eventReaders: 32,
  auditRecords: 2_000,
  auditCapabilities: 64,
  guests: 0,
  queuedRuns: 1_000,
  wasmGuests: 32,
  queuedWasmCalls: 256,
  wasmSpareMs: 60_000,
  collectedBytes: 10 * MIB,
};

/** Bytes of request headers. Real clients send well under one KiB. */
export const MAX_HEADER_BYTES = 16 * KIB;

/** Characters of a key: 128 bits in base64 have 22, and what people type by hand is not much shorter. */
export const MIN_KEY_CHARS = 16;

/** Handles that the server needs beside one per connection: children have three to five each, and there are pools of them. */
export const SPARE_HANDLES = 384;

/** Characters of a message that goes into the audit trail. */
export const MAX_AUDIT_TEXT = 300;

/** Executions on one page of `GET /executions`, unless asked for fewer; and the most that can be asked for. */
export const PAGE_SIZE = 50;
export const MAX_PAGE_SIZE = 500;

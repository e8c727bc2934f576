const KIB = 1024;
const MIB = 1024 * KIB;
const SECOND = 1_000;
const MINUTE = 60 * SECOND;

/** Every limit of the tool boundary. All can be set in `createToolExecutor({ limits })`. */
export interface ToolLimits {
  /** Bytes of one request's body. The specification's example advertises the same. */
  readonly maxRequestBodyBytes: number;
  /** Bytes of all headers of a request. */
  readonly maxHeaderBytes: number;
  /** How long the headers of a request may take to arrive: who sends them byte by byte only holds a connection. */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take to arrive: 10 MiB over a slow line. */
  readonly requestTimeoutMs: number;
  /** How deep a body may nest: deeper than any parameters people send, far from any stack's end. */
  readonly maxRequestDepth: number;
  /** How many values a body may hold: 10 MiB of small numbers would otherwise grow to a hundred times that in memory. */
  readonly maxRequestValues: number;
  /** Bytes of one variable in `env`. The kernel takes 128 KiB; keys and tokens are a thousandth of that. */
  readonly maxEnvValueBytes: number;
  /** Bytes of all variables together. */
  readonly maxEnvBytes: number;
  /** Variables in `env`. */
  readonly maxEnvVariables: number;
  /** How long a caller waits for an install; the install itself goes on behind its back. The specification recommends 60 s. */
  readonly installTimeoutMs: number;
  /** How long an install may go on in the background before it is given up. */
  readonly installHardTimeoutMs: number;
  /** How long a registry may keep silent before it is asked again, three times at most. */
  readonly registryTimeoutMs: number;
  /** How long import and execution may take together. The specification recommends 120 s. */
  readonly maxExecutionTimeMs: number;
  /** How long a request may take in all, queues included. The specification recommends 180 s. */
  readonly maxTotalTimeMs: number;
  /** How long before the kill the tool's `abortSignal` fires. */
  readonly abortLeadMs: number;
  /** Bytes of a result as JSON. */
  readonly maxOutputBytes: number;
  /** How deep a result may nest. */
  readonly maxOutputDepth: number;
  /** Bytes of standard output and of standard error that are kept, each. The rest is read and dropped. */
  readonly maxLogBytes: number;
  /** Events that one execution keeps for readers that come back; then the oldest `log` and `preliminary` ones go. */
  readonly maxEvents: number;
  /** Bytes of events that one execution keeps for readers that come back. */
  readonly maxEventBytes: number;
  /** Megabytes of JavaScript heap of a child. */
  readonly childHeapMegabytes: number;
  /** Installs at the same time. Each is mostly network and disk; more only wait for each other on two cores. */
  readonly maxInstalls: number;
  /** Executions at the same time. */
  readonly maxExecutions: number;
  /** Requests that may wait for an install or an execution. Beyond it: 503. */
  readonly maxQueued: number;
  /** What `Retry-After` says then, in seconds. */
  readonly retryAfterSeconds: number;
  /** Children that wait for work. Each costs about 40 MiB and takes a start of 30 to 40 ms off the path of a call. */
  readonly warmChildren: number;
  /** Bytes of installed trees that are kept. The least recently used go first, never one that is in use. */
  readonly maxCacheBytes: number;
  /** Packages in one tree. Real tools have up to 200. */
  readonly maxTreePackages: number;
  /** Files in one tree. */
  readonly maxTreeFiles: number;
  /** Bytes of one tree, unpacked. */
  readonly maxTreeBytes: number;
  /** How long a tag or range stays resolved to the same version without asking the registry again. */
  readonly tagTtlMs: number;
  /** How long a 404 of the registry is remembered. */
  readonly notFoundTtlMs: number;
  /** Items of one batch. */
  readonly maxBatchItems: number;
  /** Items of one batch that run at the same time. */
  readonly maxBatchConcurrency: number;
  /** Bytes of an item's `params` as JSON, with the outputs of other items put in: the largest output, and a request beside it. */
  readonly maxWiredBytes: number;
  /** Bytes of all results of a batch: what one answer can carry without holding the server up for a second. */
  readonly maxBatchResultBytes: number;
  /** How long a finished execution can be asked for and its events be read again. */
  readonly keepEventsMs: number;
  /** Bytes of results and events of finished executions that are kept in memory; beyond it the oldest go earlier. */
  readonly maxKeptBytes: number;
  /** How long a stream's reader may be away before its call is cancelled. Event sources come back after about 3 s. */
  readonly streamGraceMs: number;
  /** How often a silent stream sends a comment, so that proxies keep it open. */
  readonly heartbeatMs: number;
  /** How long results of async executions are kept. */
  readonly keepResultsMs: number;
  /** Bytes of results of async executions that are kept on disk; beyond it the oldest go earlier. */
  readonly maxKeptResultBytes: number;
  /** Async executions that may wait. */
  readonly maxAsyncQueued: number;
  /** Bytes of the requests of async executions that may wait: they are in memory. */
  readonly maxAsyncQueuedBytes: number;
  /** Characters of an idempotency key. */
  readonly maxIdempotencyKey: number;
  /** The pauses between attempts to deliver a webhook. After the last it is given up. */
  readonly webhookRetryMs: readonly number[];
  /** How long one attempt to deliver a webhook may take. */
  readonly webhookTimeoutMs: number;
}

export const DEFAULT_TOOL_LIMITS: ToolLimits = {
  maxRequestBodyBytes: 10 * MIB,
  maxHeaderBytes: 16 * KIB,
  headersTimeoutMs: 15 * SECOND,
  requestTimeoutMs: MINUTE,
  maxRequestDepth: 128,
  maxRequestValues: 1_000_000,
  maxEnvValueBytes: 64 * KIB,
  maxEnvBytes: 512 * KIB,
  maxEnvVariables: 256,
  installTimeoutMs: MINUTE,
  installHardTimeoutMs: 5 * MINUTE,
  registryTimeoutMs: 15 * SECOND,
  maxExecutionTimeMs: 2 * MINUTE,
  maxTotalTimeMs: 3 * MINUTE,
  abortLeadMs: SECOND,
  maxOutputBytes: 10 * MIB,
  maxOutputDepth: 128,
  maxLogBytes: 64 * KIB,
  maxEvents: 2_000,
  maxEventBytes: 16 * MIB,
  childHeapMegabytes: 512,
  maxInstalls: 4,
  maxExecutions: 8,
  maxQueued: 256,
  retryAfterSeconds: 2,
  warmChildren: 2,
  maxCacheBytes: 4 * 1024 * MIB,
  maxTreePackages: 2_000,
  maxTreeFiles: 200_000,
  maxTreeBytes: 1024 * MIB,
  tagTtlMs: MINUTE,
  notFoundTtlMs: 10 * SECOND,
  maxBatchItems: 100,
  maxBatchConcurrency: 8,
  maxWiredBytes: 20 * MIB,
  maxBatchResultBytes: 64 * MIB,
  keepEventsMs: 5 * MINUTE,
  maxKeptBytes: 128 * MIB,
  streamGraceMs: 5 * SECOND,
  heartbeatMs: 15 * SECOND,
  keepResultsMs: 24 * 60 * MINUTE,
  maxKeptResultBytes: 1024 * MIB,
  maxAsyncQueued: 10_000,
  maxAsyncQueuedBytes: 256 * MIB,
  maxIdempotencyKey: 256,
  webhookRetryMs: [
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    2 * 60 * MINUTE,
    5 * 60 * MINUTE,
    10 * 60 * MINUTE,
  ],
  webhookTimeoutMs: 15 * SECOND,
};

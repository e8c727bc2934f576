import { isSallyportError, SallyportError } from '../errors/index.js';
import { Admission } from './admission.js';
import { AsyncExecutions } from './async/async-executions.js';
import { runBatch } from './batch.js';
import { type CallOptions, refusal } from './calls.js';
import { Execution } from './execution.js';
import { executionStatus } from './execution-status.js';
import type { RequestOptions, ToolExecutorOptions } from './executor-options.js';
import { createParts, type ExecutorParts } from './executor-parts.js';
import { failure, failureOf } from './failure.js';
import { itemKey, type KeyUse, keyUse } from './idempotency.js';
import { KnownExecutions } from './known-executions.js';
import { DEFAULT_TOOL_LIMITS, type ToolLimits } from './limits.js';
import {
  type AsyncAccepted,
  type BatchResponse,
  ExecuteAsyncRequest,
  ExecuteBatchRequest,
  ExecuteToolRequest,
  type ExecuteToolResponse,
  type ExecutionStatus,
  LoadAndDescribeRequest,
  type LoadAndDescribeResponse,
  ValidateToolRequest,
  type ValidateToolResponse,
} from './messages.js';
import { DEFAULT_TOOL_POLICY, type ToolPolicy } from './policy.js';
import { checkEnv, checkTimeout, parseRequest } from './request.js';
import { type ToolStats, toolStats } from './stats.js';

/** Runs tools of npm packages. */
export class ToolExecutor implements AsyncDisposable {
  readonly limits: ToolLimits;
  readonly policy: ToolPolicy;
  readonly #parts: ExecutorParts;
  readonly #async: AsyncExecutions | undefined;
  readonly #admission: Admission;
  readonly #executions: KnownExecutions;
  readonly #onExecution: (execution: Execution) => void;
  #disposed: Promise<void> | undefined;

  constructor(options: ToolExecutorOptions) {
    this.limits = { ...DEFAULT_TOOL_LIMITS, ...options.limits };
    this.policy = { ...DEFAULT_TOOL_POLICY, ...options.policy };
    this.#onExecution = options.onExecution ?? (() => {});
    const { limits, policy } = this;
    const parts = createParts(options, limits, policy);
    this.#parts = parts;
    this.#admission = new Admission(limits);
    this.#executions = new KnownExecutions({ keepMs: limits.keepEventsMs, maxBytes: limits.maxKeptBytes });
    if (parts.kept === undefined) return;
    this.#async = new AsyncExecutions({
      ...parts.kept,
      limits,
      run: (request, execution) =>
        this.#admission.track(
          parts.calls.perform(request, execution, { lane: 'async', freshness: { kind: 'default' } }),
        ),
      register: (execution) => this.#register(execution),
    });
    this.#async.start();
  }

  /** The isolation level that children are started at. */
  get level(): string {
    return this.#parts.confinement.level;
  }

  /** What that means, in words. */
  get confinedBy(): string {
    return this.#parts.confinement.means;
  }

  /** Gets children and the installer ready ahead of the first call. Rejects when children cannot be started as configured. */
  async warm(): Promise<void> {
    this.#parts.installer.warm();
    await this.#parts.cache.open();
    await this.#parts.pool.prove();
    this.#parts.pool.fill();
  }

  /** Runs a tool and waits for its answer. Never rejects: every failure is an answer. */
  async execute(input: unknown, options: RequestOptions = {}): Promise<ExecuteToolResponse> {
    return await this.stream(input, options).done;
  }

  /** Starts a tool and returns at once; its events can be followed. */
  stream(input: unknown, options: RequestOptions = {}): Execution {
    return this.#stream(input, options, () => keyUse(options, input));
  }

  #stream(input: unknown, options: RequestOptions, keyOf: () => KeyUse | undefined): Execution {
    const { maxEvents, maxEventBytes: maxBytes } = this.limits;
    const execution = new Execution({ maxEvents, maxBytes }, { owner: options.principal });
    const attend = (attended: Execution): Execution => {
      if (options.keptBy !== 'readers') attended.attend(options.signal);
      return attended;
    };
    try {
      const request = parseRequest(ExecuteToolRequest, input);
      this.#checkRequest(request);
      const key = keyOf();
      const earlier = key === undefined ? undefined : this.#executions.find(key);
      if (earlier !== undefined) return attend(earlier);
      this.#admission.check();
      this.#register(execution, key);
      void this.#admission.track(this.#parts.calls.perform(request, execution, callOptions(options)));
      return attend(execution);
    } catch (error) {
      execution.finish(refusal(execution, failureOf(error)));
      return execution;
    }
  }

  /** Accepts an execution that outlives its request. Rejects with a `ToolFailureError`. */
  async executeAsync(input: unknown, options: RequestOptions = {}): Promise<AsyncAccepted> {
    const request = parseRequest(ExecuteAsyncRequest, input);
    this.#checkRequest(request);
    if (this.#async === undefined) throw failure('NOT_FOUND', 'this executor takes no async executions');
    return this.#async.submit(request, keyUse(options, input), options.principal);
  }

  /** Looks at a tool without running it. Rejects with a `ToolFailureError`. */
  async validate(input: unknown, options: RequestOptions = {}): Promise<ValidateToolResponse> {
    const request = parseRequest(ValidateToolRequest, input);
    this.#admission.check();
    return await this.#admission.track(
      this.#parts.validation.validate(request, callOptions(options), signalOf(options)),
    );
  }

  /** Describes a tool as protocol 1.1 does. Rejects with a `ToolFailureError`. */
  async describe(input: unknown, options: RequestOptions = {}): Promise<LoadAndDescribeResponse> {
    const request = parseRequest(LoadAndDescribeRequest, input);
    this.#admission.check();
    return await this.#admission.track(
      this.#parts.validation.describe(request, callOptions(options), signalOf(options)),
    );
  }

  /** Runs several tools. Rejects with a `ToolFailureError` when the batch itself is no good. */
  async batch(input: unknown, options: RequestOptions = {}): Promise<BatchResponse> {
    const request = parseRequest(ExecuteBatchRequest, input);
    const started = performance.now();
    const key = keyUse(options, input);
    // The key is that of the whole batch, which is sent again as a whole.
    if (key !== undefined) for (const index of request.items.keys()) this.#executions.find(itemKey(key, index));
    const results = await runBatch(request, this.limits, async (item, index) => {
      const execution = this.#stream(item, options, () => (key === undefined ? undefined : itemKey(key, index)));
      return { response: await execution.done, bytes: execution.responseBytes };
    });
    return {
      success: results.every((result) => result.success),
      results,
      executionTimeMs: Math.round(performance.now() - started),
    };
  }

  /** An execution that this process knows: running, or finished a short while ago. */
  execution(id: string): Execution | undefined {
    return this.#executions.get(id);
  }

  /** What is known of an execution, also of one that ran in an earlier life of the server. */
  status(id: string): ExecutionStatus | undefined {
    const stored = this.#async?.status(id);
    if (stored !== undefined) return stored;
    const live = this.#executions.get(id);
    return live === undefined ? undefined : executionStatus(live);
  }

  /** Whose an execution is, where callers are told apart. */
  ownerOf(id: string): string | undefined {
    return this.#executions.get(id)?.owner ?? this.#async?.ownerOf(id);
  }

  /** Starts no async execution any more that waits: they stay queued for the next start. */
  holdQueue(): void {
    this.#async?.hold();
  }

  /** Cancels an execution and waits for its end. False when there is none of this id that runs. */
  async cancel(id: string): Promise<boolean> {
    const live = this.#executions.get(id);
    if (live === undefined || live.response !== undefined) return false;
    live.cancel('the execution was cancelled');
    await live.done;
    return true;
  }

  /** Installs a package ahead of its first call. Rejects with a `ToolFailureError`. */
  async prefetch(
    packageName: string,
    version = 'latest',
    options: RequestOptions = {},
  ): Promise<{ readonly version: string; readonly cache: 'hit' | 'miss' }> {
    const request = parseRequest(ExecuteToolRequest, { packageName, version, name: 'default' });
    const acquired = await this.#admission.track(
      this.#parts.trees.acquire(request, {
        signal: signalOf(options),
        ...callOptions(options),
        onPhase: () => {},
        onProgress: () => {},
      }),
    );
    using lease = acquired.lease;
    return { version: lease.tree.version, cache: acquired.cache };
  }

  stats(): ToolStats {
    return toolStats(this.#parts, this.#admission.total);
  }

  /** Resolves when nothing is done in the background any more. */
  async settled(): Promise<void> {
    await this.#parts.bundler.idle();
  }

  /** Ends everything: calls, children, installs, deliveries. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #end(): Promise<void> {
    this.#admission.shut();
    const asyncEnd = this.#async?.dispose();
    for (const execution of this.#executions) {
      if (execution.response === undefined) execution.cancel('the executor is being shut down');
    }
    await this.#parts.installer[Symbol.asyncDispose]();
    await this.#parts.bundler.dispose();
    await this.#admission.settled();
    await this.#parts.pool.dispose();
    await this.#parts.confinement[Symbol.asyncDispose]();
    await this.#parts.cache[Symbol.asyncDispose]();
    await asyncEnd;
  }

  #checkRequest(request: ExecuteToolRequest): void {
    checkEnv(request.env, this.limits);
    checkTimeout(request.timeoutMs, this.limits);
  }

  /** Makes an execution findable, and known to whoever listens. */
  #register(execution: Execution, key?: KeyUse): void {
    this.#executions.add(execution, key);
    this.#onExecution(execution);
  }
}

function callOptions(options: RequestOptions): CallOptions {
  return { lane: options.client ?? 'local', freshness: options.freshness ?? { kind: 'default' } };
}

function signalOf(options: RequestOptions): AbortSignal {
  return options.signal ?? new AbortController().signal;
}

/** Makes an executor. Throws TOOL_CACHE_UNUSABLE when the cache folder cannot be used, POLICY_INVALID for what the level cannot hold. */
export function createToolExecutor(options: ToolExecutorOptions): ToolExecutor {
  try {
    return new ToolExecutor(options);
  } catch (error) {
    if (isSallyportError(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SallyportError(
      'TOOL_CACHE_UNUSABLE',
      `the cache folder ${JSON.stringify(options.cacheDir)} cannot be used: ${reason}`,
      {},
      { cause: error },
    );
  }
}

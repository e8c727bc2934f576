import { mkdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SallyportError } from '../errors/index.js';
import { createSpawner, type Spawner } from '../sandbox/index.js';
import { AsyncExecutions } from './async/async-executions.js';
import { AsyncStore } from './async/store.js';
import { runBatch } from './batch.js';
import { Bundler } from './bundler.js';
import { type CallOptions, Calls, refusal } from './calls.js';
import { Execution } from './execution.js';
import { failure, failureOf } from './failure.js';
import { FairQueue } from './fair-queue.js';
import { bodyHash, IdempotencyKeys } from './idempotency.js';
import { InstallerProcess } from './install/installer.js';
import { type Freshness, Resolver } from './install/resolver.js';
import { scriptRunner } from './install/run-scripts.js';
import { type Tree, TreeCache } from './install/tree-cache.js';
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
import { ChildPool } from './run/child-pool.js';
import { ToolRuns } from './tool-runs.js';
import { Trees } from './trees.js';
import { Validation } from './validation.js';
import { AddressPolicy } from './webhooks/address.js';
import { Deliveries } from './webhooks/deliveries.js';

export interface ToolExecutorOptions {
  /** Where trees, tarballs and async executions are kept. */
  readonly cacheDir: string;
  /** The registry to install from. The machine's npm configuration decides, unless told otherwise. */
  readonly registry?: string;
  readonly limits?: Partial<ToolLimits>;
  readonly policy?: Partial<ToolPolicy>;
  /** Who starts children. One of its own, unless told otherwise. */
  readonly spawner?: Spawner;
  /** The isolation level of the spawner that tools run at. */
  readonly level?: string;
  /** Where children have their private folders. */
  readonly scratchDir?: string;
  /** Hears of every execution that was accepted, in the turn of the request that asked for it. */
  readonly onExecution?: (execution: Execution) => void;
}

/** How a caller wants one call to be treated. */
export interface RequestOptions {
  /** Whose turn it counts as in the queues. */
  readonly client?: string;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** How old answers of the registry may be. */
  readonly freshness?: Freshness;
  /** The same key and body are the same execution. */
  readonly idempotencyKey?: string;
}

/** Figures of a running executor. */
export interface ToolStats {
  readonly executions: { readonly running: number; readonly waiting: number; readonly total: number };
  readonly installs: { readonly running: number; readonly waiting: number; readonly total: number };
  readonly cache: {
    readonly trees: number;
    readonly bytes: number;
    readonly evictions: number;
    readonly bundles: number;
  };
  readonly children: { readonly idle: number; readonly started: number };
}

/** Runs tools of npm packages. */
export class ToolExecutor implements AsyncDisposable {
  readonly limits: ToolLimits;
  readonly policy: ToolPolicy;
  readonly level: string;
  readonly #spawner: Spawner;
  readonly #ownSpawner: boolean;
  readonly #scratch: string;
  readonly #installer: InstallerProcess;
  readonly #resolver: Resolver;
  readonly #cache: TreeCache;
  readonly #trees: Trees;
  readonly #pool: ChildPool;
  readonly #runs: ToolRuns;
  readonly #bundler: Bundler;
  readonly #slots: FairQueue;
  readonly #calls: Calls;
  readonly #validation: Validation;
  readonly #async: AsyncExecutions;
  readonly #keys = new IdempotencyKeys();
  readonly #executions = new Map<string, Execution>();
  readonly #inFlight = new Set<Promise<unknown>>();
  readonly #onExecution: (execution: Execution) => void;
  #total = 0;
  #disposed: Promise<void> | undefined;

  constructor(options: ToolExecutorOptions) {
    const cacheDir = resolve(options.cacheDir);
    this.limits = { ...DEFAULT_TOOL_LIMITS, ...options.limits };
    this.policy = { ...DEFAULT_TOOL_POLICY, ...options.policy };
    this.level = options.level ?? 'process';
    this.#onExecution = options.onExecution ?? (() => {});
    const { limits, policy, level } = this;
    mkdirSync(cacheDir, { recursive: true });
    this.#ownSpawner = options.spawner === undefined;
    this.#spawner = options.spawner ?? createSpawner();
    this.#scratch = resolve(
      options.scratchDir ?? join(tmpdir(), `sallyport-tools-${process.pid}-${Math.random().toString(36).slice(2, 10)}`),
    );
    mkdirSync(this.#scratch, { recursive: true, mode: 0o700 });
    this.#installer = new InstallerProcess({ cacheDir, registry: options.registry }, limits.installHardTimeoutMs);
    this.#pool = new ChildPool({
      spawner: this.#spawner,
      level,
      foldersDir: this.#scratch,
      warm: limits.warmChildren,
      heapMegabytes: limits.childHeapMegabytes,
    });
    this.#runs = new ToolRuns(this.#pool, limits);
    this.#resolver = new Resolver({
      installer: this.#installer,
      policy,
      tagTtlMs: limits.tagTtlMs,
      notFoundTtlMs: limits.notFoundTtlMs,
    });
    this.#cache = new TreeCache({
      cacheDir,
      registry: options.registry,
      installer: this.#installer,
      policy,
      maxCacheBytes: limits.maxCacheBytes,
      maxTreePackages: limits.maxTreePackages,
      maxTreeFiles: limits.maxTreeFiles,
      maxTreeBytes: limits.maxTreeBytes,
      runScripts: scriptRunner(this.#spawner, level, this.#scratch),
      onUndecided: (tree) => this.#undecided(tree),
    });
    this.#bundler = new Bundler(this.#installer, this.#cache, this.#runs);
    this.#trees = new Trees(this.#resolver, this.#cache, limits);
    this.#slots = new FairQueue({
      places: limits.maxExecutions,
      maxWaiting: limits.maxQueued,
      retryAfterSeconds: limits.retryAfterSeconds,
    });
    const parts = { trees: this.#trees, runs: this.#runs, bundler: this.#bundler, slots: this.#slots, limits };
    this.#calls = new Calls(parts);
    this.#validation = new Validation({ ...parts, installer: this.#installer, resolver: this.#resolver, policy });
    const store = new AsyncStore(join(cacheDir, 'executions.db'));
    const addresses = new AddressPolicy(policy.webhookAllow);
    this.#async = new AsyncExecutions({
      store,
      addresses,
      limits,
      deliveries: new Deliveries({
        store,
        addresses,
        retryMs: limits.webhookRetryMs,
        timeoutMs: limits.webhookTimeoutMs,
      }),
      run: (request, execution) =>
        this.#track(this.#calls.perform(request, execution, { lane: 'async', freshness: { kind: 'default' } })),
      register: (execution) => this.#remember(execution),
    });
    this.#async.recover();
  }

  /** Gets children and the installer ready ahead of the first call. Rejects when children cannot be started as configured. */
  async warm(): Promise<void> {
    this.#installer.warm();
    await this.#cache.open();
    await this.#pool.prove();
    this.#pool.fill();
  }

  /** Runs a tool and waits for its answer. Never rejects: every failure is an answer. */
  async execute(input: unknown, options: RequestOptions = {}): Promise<ExecuteToolResponse> {
    return await this.stream(input, options).done;
  }

  /** Starts a tool and returns at once; its events can be followed. */
  stream(input: unknown, options: RequestOptions = {}): Execution {
    const execution = new Execution({ maxEvents: this.limits.maxEvents, maxBytes: this.limits.maxEventBytes });
    try {
      const request = parseRequest(ExecuteToolRequest, input);
      this.#checkRequest(request);
      const { idempotencyKey: key } = options;
      const hash = key === undefined ? '' : bodyHash(input);
      const earlier = key === undefined ? undefined : this.#keys.find(key, hash);
      if (earlier !== undefined) return earlier;
      this.#admit();
      if (key !== undefined) this.#keys.set(key, hash, execution);
      this.#remember(execution);
      const stop = (): void => execution.cancel('the caller went away');
      if (options.signal?.aborted) stop();
      else options.signal?.addEventListener('abort', stop, { once: true });
      void this.#track(this.#calls.perform(request, execution, callOptions(options))).finally(() =>
        options.signal?.removeEventListener('abort', stop),
      );
    } catch (error) {
      execution.finish(refusal(execution, failureOf(error)));
    }
    return execution;
  }

  /** Accepts an execution that outlives its request. Rejects with a `ToolFailureError`. */
  async executeAsync(input: unknown, options: RequestOptions = {}): Promise<AsyncAccepted> {
    const request = parseRequest(ExecuteAsyncRequest, input);
    this.#checkRequest(request);
    const { idempotencyKey: key } = options;
    return this.#async.submit(request, key === undefined ? undefined : { key, bodyHash: bodyHash(input) });
  }

  /** Looks at a tool without running it. Rejects with a `ToolFailureError`. */
  async validate(input: unknown, options: RequestOptions = {}): Promise<ValidateToolResponse> {
    const request = parseRequest(ValidateToolRequest, input);
    this.#admit();
    return await this.#track(this.#validation.validate(request, callOptions(options), signalOf(options)));
  }

  /** Describes a tool as protocol 1.1 does. Rejects with a `ToolFailureError`. */
  async describe(input: unknown, options: RequestOptions = {}): Promise<LoadAndDescribeResponse> {
    const request = parseRequest(LoadAndDescribeRequest, input);
    this.#admit();
    const described = await this.#track(
      this.#validation.describe({ ...request, params: undefined }, callOptions(options), signalOf(options)),
    );
    const { description, inputSchema, version, integrity } = described;
    return {
      success: true,
      tool: {
        exportName: request.name,
        ...(description === undefined ? {} : { description }),
        ...(inputSchema === undefined ? {} : { inputSchema }),
      },
      resolved: { version, ...(integrity === undefined ? {} : { integrity }) },
    };
  }

  /** Runs several tools. Rejects with a `ToolFailureError` when the batch itself is no good. */
  async batch(input: unknown, options: RequestOptions = {}): Promise<BatchResponse> {
    const request = parseRequest(ExecuteBatchRequest, input);
    const started = performance.now();
    const results = await runBatch(request, this.limits, (item) => this.execute(item, options));
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
    const stored = this.#async.status(id);
    if (stored !== undefined) return stored;
    const live = this.#executions.get(id);
    if (live === undefined) return undefined;
    const iso = (at: number): string => new Date(at).toISOString();
    return {
      success: true,
      executionId: id,
      status: live.status,
      createdAt: iso(live.createdAt),
      ...(live.startedAt === undefined ? {} : { startedAt: iso(live.startedAt) }),
      ...(live.finishedAt === undefined ? {} : { finishedAt: iso(live.finishedAt) }),
      ...(live.response === undefined ? {} : { result: live.response }),
    };
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
    const acquired = await this.#track(
      this.#trees.acquire(request, {
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
    return {
      executions: { running: this.#slots.taken, waiting: this.#slots.waiting, total: this.#total },
      installs: { running: this.#trees.installing, waiting: this.#trees.waiting, total: this.#cache.installs },
      cache: {
        trees: this.#cache.size,
        bytes: this.#cache.bytes,
        evictions: this.#cache.evictions,
        bundles: this.#bundler.made,
      },
      children: { idle: this.#pool.idle, started: this.#pool.started },
    };
  }

  /** Resolves when nothing is done in the background any more. */
  async settled(): Promise<void> {
    await this.#bundler.idle();
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
    const asyncEnd = this.#async.dispose();
    for (const execution of this.#executions.values()) {
      if (execution.response === undefined) execution.cancel('the executor is being shut down');
    }
    await this.#installer[Symbol.asyncDispose]();
    await this.#bundler.dispose();
    await Promise.allSettled(this.#inFlight);
    await this.#pool.dispose();
    if (this.#ownSpawner) await this.#spawner.dispose();
    await asyncEnd;
    await rm(this.#scratch, { recursive: true, force: true });
  }

  #undecided(tree: Tree): void {
    // A package on its own has next to nothing to gain.
    if (this.policy.bundle === 'auto' && tree.packages > 1) this.#bundler.add(tree);
  }

  #checkRequest(request: ExecuteToolRequest): void {
    checkEnv(request.env, this.limits);
    checkTimeout(request.timeoutMs, this.limits);
  }

  #admit(): void {
    if (this.#disposed !== undefined)
      throw failure(
        'OVERLOADED',
        'the executor is being shut down',
        { retryAfterSeconds: this.limits.retryAfterSeconds },
        { retryable: true },
      );
    const { maxExecutions, maxQueued, retryAfterSeconds } = this.limits;
    if (this.#inFlight.size < maxExecutions + maxQueued) return;
    throw failure(
      'OVERLOADED',
      `${this.#inFlight.size} requests are under way already; try again in ${retryAfterSeconds} s`,
      { retryAfterSeconds },
      { retryable: true },
    );
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#total += 1;
    this.#inFlight.add(work);
    const done = (): void => {
      this.#inFlight.delete(work);
    };
    work.then(done, done);
    return work;
  }

  #remember(execution: Execution): void {
    this.#executions.set(execution.id, execution);
    this.#onExecution(execution);
    void execution.done.then(() => {
      setTimeout(() => {
        this.#executions.delete(execution.id);
        this.#keys.forget(execution);
      }, this.limits.keepEventsMs).unref();
    });
  }
}

function callOptions(options: RequestOptions): CallOptions {
  return { lane: options.client ?? 'local', freshness: options.freshness ?? { kind: 'default' } };
}

function signalOf(options: RequestOptions): AbortSignal {
  return options.signal ?? new AbortController().signal;
}

/** Makes an executor. Throws TOOL_CACHE_UNUSABLE when the cache folder cannot be used. */
export function createToolExecutor(options: ToolExecutorOptions): ToolExecutor {
  try {
    return new ToolExecutor(options);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SallyportError(
      'TOOL_CACHE_UNUSABLE',
      `the cache folder ${JSON.stringify(options.cacheDir)} cannot be used: ${reason}`,
      {},
      { cause: error },
    );
  }
}

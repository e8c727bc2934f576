import { randomUUID } from 'node:crypto';
import { Execution } from '../execution.js';
import { failure, failureFields } from '../failure.js';
import type { ToolLimits } from '../limits.js';
import {
  type AsyncAccepted,
  type ExecuteAsyncRequest,
  ExecuteToolRequest,
  type ExecuteToolResponse,
  type ExecutionStatus,
} from '../messages.js';
import type { AddressPolicy } from '../webhooks/address.js';
import type { Deliveries } from '../webhooks/deliveries.js';
import { urlProblem } from '../webhooks/send.js';
import { makeSecret } from '../webhooks/sign.js';
import { keepTrying } from './keep-trying.js';
import type { AsyncStore, StoredExecution } from './store.js';

export interface AsyncParts {
  readonly store: AsyncStore;
  readonly deliveries: Deliveries;
  readonly addresses: AddressPolicy;
  readonly limits: ToolLimits;
  /** Runs an execution to its end. */
  readonly run: (request: ExecuteToolRequest, execution: Execution) => Promise<ExecuteToolResponse>;
  /** Makes an execution findable by its id while this process knows it. */
  readonly register: (execution: Execution) => void;
}

const PRUNE_EVERY_MS = 10 * 60_000;

/**
 * Executions that outlive their request, and the server.
 *
 *     POST ──stored──▶ queued ──▶ running ──answer stored──▶ succeeded | failed | cancelled ──webhook due──▶ delivered
 *                        │           └── the server ends ──▶ failed at the next start, with the reason
 *                        └── the server ends ──▶ queued at the next start; one that had variables fails: they are not stored
 */
export class AsyncExecutions {
  readonly #parts: AsyncParts;
  readonly #waiting: { readonly request: ExecuteToolRequest; readonly execution: Execution }[] = [];
  readonly #known = new Map<string, Execution>();
  readonly #prune: NodeJS.Timeout;
  #running = 0;
  #disposed = false;
  /** The latest time seen. */
  #latest = 0;

  constructor(parts: AsyncParts) {
    this.#parts = parts;
    this.#prune = setInterval(() => this.#forget(), PRUNE_EVERY_MS).unref();
  }

  /** Takes up what the last server left. */
  recover(): void {
    const { store, deliveries } = this.#parts;
    this.#forget();
    for (const stored of store.withStatus('running')) {
      this.#close(stored, 'the server was restarted while the tool was running', { restarted: true });
    }
    for (const stored of store.withStatus('queued')) {
      if (stored.hadEnv) {
        this.#close(
          stored,
          'the server was restarted before the tool ran, and variables in env are never stored: send it again',
          { restarted: true, env: 'lost' },
        );
        continue;
      }
      const request = ExecuteToolRequest.safeParse(JSON.parse(stored.request));
      if (!request.success) {
        this.#close(stored, 'the stored request cannot be read', { restarted: true });
        continue;
      }
      this.#enqueue(request.data, this.#execution(stored.id, stored.createdAt));
    }
    deliveries.wake();
  }

  /** Accepts an execution. Throws INVALID_REQUEST, OVERLOADED or IDEMPOTENCY_CONFLICT. */
  submit(
    request: ExecuteAsyncRequest,
    key: { readonly key: string; readonly bodyHash: string } | undefined,
  ): AsyncAccepted {
    const { store, limits, addresses } = this.#parts;
    const { callback, ...rest } = request;
    const earlier = key === undefined ? undefined : store.byKey(key.key);
    if (earlier !== undefined) {
      if (earlier.bodyHash !== key?.bodyHash) {
        throw failure('IDEMPOTENCY_CONFLICT', `the key ${JSON.stringify(key?.key)} was used with another body`, {
          field: 'Idempotency-Key',
          executionId: earlier.execution.id,
        });
      }
      return accepted(
        earlier.execution.id,
        this.#known.get(earlier.execution.id)?.status ?? earlier.execution.status,
        undefined,
      );
    }
    const problem = callback === undefined ? undefined : urlProblem(callback.url, addresses);
    if (problem !== undefined) throw failure('INVALID_REQUEST', `callback.url: ${problem}`, { field: 'callback.url' });
    if (this.#waiting.length >= limits.maxAsyncQueued) {
      throw failure(
        'OVERLOADED',
        `${this.#waiting.length} executions wait already`,
        { retryAfterSeconds: limits.retryAfterSeconds },
        { retryable: true },
      );
    }
    const { env, ...storable } = rest;
    const id = randomUUID();
    const createdAt = this.#now();
    const secret = callback === undefined ? undefined : (callback.secret ?? makeSecret());
    store.add(
      {
        id,
        status: 'queued',
        request: JSON.stringify(storable),
        hadEnv: Object.keys(env).length > 0,
        createdAt,
        startedAt: undefined,
        finishedAt: undefined,
        result: undefined,
      },
      callback === undefined || secret === undefined
        ? undefined
        : {
            executionId: id,
            url: callback.url,
            secret,
            status: 'waiting',
            attempts: 0,
            nextAt: 0,
            lastError: undefined,
          },
      key,
    );
    const execution = this.#execution(id, createdAt);
    this.#enqueue(rest, execution);
    return accepted(id, execution.status, callback?.secret === undefined ? secret : undefined);
  }

  /** What is known of an execution. */
  status(id: string): ExecutionStatus | undefined {
    const stored = this.#parts.store.get(id);
    if (stored === undefined) return undefined;
    const callback = this.#parts.store.callbackOf(id);
    const live = this.#known.get(id);
    const iso = (at: number): string => new Date(at).toISOString();
    return {
      success: true,
      executionId: id,
      status: live?.status ?? stored.status,
      createdAt: iso(stored.createdAt),
      ...(stored.startedAt === undefined ? {} : { startedAt: iso(stored.startedAt) }),
      ...(stored.finishedAt === undefined ? {} : { finishedAt: iso(stored.finishedAt) }),
      ...(stored.result === undefined ? {} : { result: JSON.parse(stored.result) }),
      ...(callback === undefined
        ? {}
        : {
            callback: {
              status: callback.status === 'waiting' ? ('pending' as const) : callback.status,
              attempts: callback.attempts,
              ...(callback.lastError === undefined ? {} : { lastError: callback.lastError }),
            },
          }),
    };
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    clearInterval(this.#prune);
    await this.#parts.deliveries.dispose();
    this.#parts.store.close();
  }

  #execution(id: string, createdAt: number): Execution {
    const { limits, register } = this.#parts;
    const execution = new Execution({ maxEvents: limits.maxEvents, maxBytes: limits.maxEventBytes }, id, createdAt);
    this.#known.set(id, execution);
    register(execution);
    return execution;
  }

  #enqueue(request: ExecuteToolRequest, execution: Execution): void {
    this.#waiting.push({ request, execution });
    this.#next();
  }

  #next(): void {
    const { limits } = this.#parts;
    while (!this.#disposed && this.#running < limits.maxExecutions) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#running += 1;
      void this.#perform(next.request, next.execution).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }

  async #perform(request: ExecuteToolRequest, execution: Execution): Promise<void> {
    const { store, run, deliveries } = this.#parts;
    const stopped = (): boolean => this.#disposed;
    // It runs once that is on record, so that no restart runs it twice.
    if (!(await keepTrying(() => store.setRunning(execution.id, this.#now()), stopped))) return;
    const response = await run(request, execution);
    // What is cut short by the end of the server is told by the next one.
    if (this.#disposed) return;
    const status = execution.status === 'succeeded' || execution.status === 'cancelled' ? execution.status : 'failed';
    const result = JSON.stringify(response);
    if (!(await keepTrying(() => store.setFinished(execution.id, status, result, this.#now()), stopped))) return;
    this.#known.delete(execution.id);
    deliveries.wake();
  }

  #close(stored: StoredExecution, reason: string, details: Readonly<Record<string, unknown>>): void {
    const { store } = this.#parts;
    const fields = failureFields({ code: 'INTERNAL_ERROR', message: reason, details, retryable: true });
    const response: ExecuteToolResponse = { success: false, ...fields, executionTimeMs: 0, executionId: stored.id };
    store.setFinished(stored.id, 'failed', JSON.stringify(response), this.#now());
  }

  /** The time, which never goes back: an answer from a moment when the clock was wrong would be too old to keep once it is right. */
  #now(): number {
    this.#latest = Math.max(this.#latest, Date.now());
    return this.#latest;
  }

  #forget(): void {
    try {
      this.#parts.store.prune(Date.now(), this.#parts.limits.keepResultsMs);
    } catch {
      // The next time will do.
    }
  }
}

function accepted(id: string, status: ExecutionStatus['status'], secret: string | undefined): AsyncAccepted {
  return {
    success: true,
    executionId: id,
    status,
    statusUrl: `/executions/${id}`,
    ...(secret === undefined ? {} : { callbackSecret: secret }),
  };
}

import { randomUUID } from 'node:crypto';
import { refusal } from '../calls.js';
import { Execution, type ExecutionFacts } from '../execution.js';
import { executionStatus } from '../execution-status.js';
import { failure, failureFields, failureOf, type ToolFailureError } from '../failure.js';
import { type KeyUse, keyConflict } from '../idempotency.js';
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
import type { StoreLock } from './store-lock.js';

export interface AsyncParts {
  readonly store: AsyncStore;
  /** Whoever holds it runs what is in the store. */
  readonly lock: StoreLock;
  readonly deliveries: Deliveries;
  readonly addresses: AddressPolicy;
  readonly limits: ToolLimits;
  /** Runs an execution to its end. */
  readonly run: (request: ExecuteToolRequest, execution: Execution) => Promise<ExecuteToolResponse>;
  /** Makes an execution findable by its id while this process knows it. */
  readonly register: (execution: Execution) => void;
}

const PRUNE_EVERY_MS = 10 * 60_000;
/** How often the lock is asked for that another server has: at a change of servers that one is about to end. */
const TAKE_EVERY_MS = 2_000;

interface Waiting {
  readonly request: ExecuteToolRequest;
  readonly execution: Execution;
  /** Bytes of the request. */
  readonly bytes: number;
  /** Hears that it is cancelled before its turn. */
  readonly onCancel: () => void;
}

/**
 * Executions that outlive their request, and the server.
 *
 *     POST ──stored──▶ queued ──▶ running ──answer stored──▶ succeeded | failed | cancelled ──webhook due──▶ delivered
 *                        │           └── the server ends ──▶ failed at the next start, with the reason
 *                        └── the server ends ──▶ queued at the next start; one that had variables fails: they are not stored
 */
export class AsyncExecutions {
  readonly #parts: AsyncParts;
  readonly #waiting: Waiting[] = [];
  readonly #known = new Map<string, Execution>();
  readonly #prune: NodeJS.Timeout;
  #take: NodeJS.Timeout | undefined;
  #waitingBytes = 0;
  #running = 0;
  #held = false;
  #disposed = false;
  /** The latest time seen. */
  #latest = 0;

  constructor(parts: AsyncParts) {
    this.#parts = parts;
    this.#prune = setInterval(() => this.#forget(), PRUNE_EVERY_MS).unref();
  }

  /** Takes up what the last server left, as soon as no other one has it. */
  start(): void {
    if (this.#parts.lock.take()) {
      this.#recover();
      return;
    }
    this.#take = setInterval(() => this.#tryAgain(), TAKE_EVERY_MS).unref();
  }

  #tryAgain(): void {
    try {
      if (!this.#parts.lock.take()) return;
      clearInterval(this.#take);
      this.#recover();
    } catch {
      // The next time will do.
    }
  }

  #recover(): void {
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
      const { id, createdAt, owner } = stored;
      this.#enqueue(request.data, this.#execution({ id, createdAt, owner }), Buffer.byteLength(stored.request));
    }
    deliveries.wake();
  }

  /** Starts nothing any more that still waits: the next server takes it up. */
  hold(): void {
    this.#held = true;
    for (const { execution } of this.#waiting) execution.onPutOff?.();
  }

  /** Accepts an execution. Throws INVALID_REQUEST, OVERLOADED or IDEMPOTENCY_CONFLICT. */
  submit(request: ExecuteAsyncRequest, key?: KeyUse, owner?: string): AsyncAccepted {
    const { store, addresses } = this.#parts;
    const { callback, ...rest } = request;
    const earlier = key === undefined ? undefined : store.byKey(key.id);
    if (key !== undefined && earlier !== undefined) {
      if (earlier.bodyHash !== key.bodyHash) throw keyConflict(key, earlier.execution.id);
      return accepted(
        earlier.execution.id,
        this.#known.get(earlier.execution.id)?.status ?? earlier.execution.status,
        undefined,
      );
    }
    const problem = callback === undefined ? undefined : urlProblem(callback.url, addresses);
    if (problem !== undefined) throw failure('INVALID_REQUEST', `callback.url: ${problem}`, { field: 'callback.url' });
    const { env, ...storable } = rest;
    const stored = JSON.stringify(storable);
    const bytes = Buffer.byteLength(stored) + envBytes(env);
    this.#admit(bytes);
    const id = randomUUID();
    const createdAt = this.#now();
    const secret = callback === undefined ? undefined : (callback.secret ?? makeSecret());
    store.add(
      {
        id,
        status: 'queued',
        request: stored,
        owner,
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
    const execution = this.#execution({ id, createdAt, owner });
    this.#enqueue(rest, execution, bytes);
    return accepted(id, execution.status, callback?.secret === undefined ? secret : undefined);
  }

  /** What is known of an execution. */
  status(id: string): ExecutionStatus | undefined {
    const stored = this.#parts.store.get(id);
    if (stored === undefined) return undefined;
    const callback = this.#parts.store.callbackOf(id);
    const live = this.#known.get(id);
    return {
      ...executionStatus({
        ...stored,
        status: live?.status ?? stored.status,
        response: stored.result === undefined ? undefined : JSON.parse(stored.result),
      }),
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

  /** Whose an execution is. */
  ownerOf(id: string): string | undefined {
    return this.#parts.store.get(id)?.owner;
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    clearInterval(this.#prune);
    clearInterval(this.#take);
    await this.#parts.deliveries.dispose();
    this.#parts.store.close();
    this.#parts.lock.release();
  }

  /** Throws OVERLOADED when there is no place for another one. */
  #admit(bytes: number): void {
    const { store, limits, lock } = this.#parts;
    const { maxAsyncQueued, maxAsyncQueuedBytes, maxKeptResultBytes, retryAfterSeconds } = limits;
    const refuse = (reason: string): ToolFailureError =>
      failure('OVERLOADED', reason, { retryAfterSeconds }, { retryable: true });
    if (!lock.held) throw refuse('another server has the async executions of this cache folder');
    if (this.#waiting.length >= maxAsyncQueued) throw refuse(`${this.#waiting.length} executions wait already`);
    if (this.#waitingBytes + bytes > maxAsyncQueuedBytes)
      throw refuse(`executions with ${this.#waitingBytes} bytes of requests wait already`);
    // What is left after old results were forgotten is still owed to somebody.
    if (store.bytes > maxKeptResultBytes)
      throw refuse(`results with ${store.bytes} bytes wait for their webhooks already`);
  }

  #execution(facts: ExecutionFacts): Execution {
    const { limits, register } = this.#parts;
    const execution = new Execution({ maxEvents: limits.maxEvents, maxBytes: limits.maxEventBytes }, facts);
    this.#known.set(execution.id, execution);
    register(execution);
    return execution;
  }

  #enqueue(request: ExecuteToolRequest, execution: Execution, bytes: number): void {
    const waiting: Waiting = { request, execution, bytes, onCancel: () => void this.#cancelled(waiting) };
    this.#waiting.push(waiting);
    this.#waitingBytes += bytes;
    // Whoever it was registered with may have cancelled it.
    if (execution.signal.aborted) return waiting.onCancel();
    execution.signal.addEventListener('abort', waiting.onCancel, { once: true });
    if (this.#held) execution.onPutOff?.();
    this.#next();
  }

  /** Takes one out of the queue whose turn has come, or never will. */
  #leave(waiting: Waiting): void {
    this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
    this.#waitingBytes -= waiting.bytes;
    waiting.execution.signal.removeEventListener('abort', waiting.onCancel);
  }

  async #cancelled(waiting: Waiting): Promise<void> {
    // The end of the server is no end of what waits.
    if (this.#disposed) return;
    this.#leave(waiting);
    const { execution } = waiting;
    const response = refusal(execution, failureOf(execution.signal.reason));
    execution.finish(response);
    await this.#keep(execution, response);
  }

  #next(): void {
    const { limits } = this.#parts;
    while (!this.#disposed && !this.#held && this.#running < limits.maxExecutions) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      this.#leave(next);
      this.#running += 1;
      void this.#perform(next.request, next.execution).finally(() => {
        this.#running -= 1;
        this.#next();
      });
    }
  }

  async #perform(request: ExecuteToolRequest, execution: Execution): Promise<void> {
    const { store, run } = this.#parts;
    const stopped = (): boolean => this.#disposed;
    // It runs once that is on record, so that no restart runs it twice.
    if (!(await keepTrying(() => store.setRunning(execution.id, this.#now()), stopped))) return;
    await this.#keep(execution, await run(request, execution));
  }

  /** Keeps an answer, and has its webhook sent. */
  async #keep(execution: Execution, response: ExecuteToolResponse): Promise<void> {
    const { store, deliveries, limits } = this.#parts;
    const stopped = (): boolean => this.#disposed;
    // What is cut short by the end of the server is told by the next one.
    if (this.#disposed) return;
    const status = execution.status === 'succeeded' || execution.status === 'cancelled' ? execution.status : 'failed';
    const result = JSON.stringify(response);
    if (!(await keepTrying(() => store.setFinished(execution.id, status, result, this.#now()), stopped))) return;
    this.#known.delete(execution.id);
    if (store.bytes > limits.maxKeptResultBytes) this.#forget();
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
    const { store, lock, limits } = this.#parts;
    if (!lock.held) return;
    try {
      store.prune(Date.now(), limits.keepResultsMs, limits.maxKeptResultBytes);
    } catch {
      // The next time will do.
    }
  }
}

function envBytes(env: Readonly<Record<string, string>>): number {
  return Object.entries(env).reduce((sum, [name, value]) => sum + name.length + Buffer.byteLength(value), 0);
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

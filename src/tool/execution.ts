import { randomUUID } from 'node:crypto';
import type { ProxyDecision } from '../sandbox/index.js';
import { EventLog, type EventLogLimits } from './event-log.js';
import { failure } from './failure.js';
import type { ExecuteToolResponse } from './messages.js';

export interface ExecutionFacts {
  readonly id?: string;
  readonly createdAt?: number;
  /** Whose it is, where callers are told apart. */
  readonly owner?: string | undefined;
}

/**
 * One execution and who watches it.
 *
 *     queued ──▶ running ──▶ succeeded | failed | cancelled
 */
export class Execution {
  readonly id: string;
  readonly events: EventLog;
  readonly done: Promise<ExecuteToolResponse>;
  readonly createdAt: number;
  readonly owner: string | undefined;
  /** What becomes of it when its last reader is away for too long, and nobody else waits for it. */
  whenAlone: 'cancel' | 'keep' = 'keep';
  /** Hears of every connection of the tool that the level allowed or refused. */
  onNetworkDecision: ((decision: ProxyDecision) => void) | undefined;
  /** Hears that it is left in the queue for the next server. */
  onPutOff: (() => void) | undefined;
  startedAt: number | undefined;
  finishedAt: number | undefined;
  readonly #controller = new AbortController();
  #finish: (response: ExecuteToolResponse) => void = () => {};
  #response: ExecuteToolResponse | undefined;
  #responseBytes = 0;
  #callers = 0;
  #readers = 0;

  constructor(limits: EventLogLimits, { id = randomUUID(), createdAt = Date.now(), owner }: ExecutionFacts = {}) {
    this.id = id;
    this.createdAt = createdAt;
    this.owner = owner;
    this.events = new EventLog(limits);
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get response(): ExecuteToolResponse | undefined {
    return this.#response;
  }

  /** Bytes of the response, roughly: its output, or the words of its error. */
  get responseBytes(): number {
    return this.#responseBytes;
  }

  get status(): 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' {
    if (this.#response === undefined) return this.startedAt === undefined ? 'queued' : 'running';
    if (this.#response.success) return 'succeeded';
    return this.#response.error.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
  }

  start(facts: Readonly<Record<string, unknown>>): void {
    this.startedAt = Date.now();
    this.events.append('start', { executionId: this.id, ...facts });
  }

  /** Counts somebody who waits for its end, until their signal fires. The last one who leaves cancels it. */
  attend(signal: AbortSignal | undefined): void {
    this.#callers += 1;
    if (signal === undefined || this.#response !== undefined) return;
    const leave = (): void => {
      this.#callers -= 1;
      if (this.#callers > 0) return;
      // Whoever reads its events now is all that keeps it going.
      this.whenAlone = 'cancel';
      this.cancelIfAlone('the caller went away');
    };
    if (signal.aborted) {
      leave();
      return;
    }
    signal.addEventListener('abort', leave, { once: true });
    void this.done.then(() => signal.removeEventListener('abort', leave));
  }

  /** Counts somebody who reads its events from afar. Returns how to leave. */
  read(): () => void {
    this.#readers += 1;
    return () => {
      this.#readers -= 1;
    };
  }

  /** Cancels it when nobody waits for it, and nobody reads its events from afar. */
  cancelIfAlone(reason: string): void {
    if (this.#callers === 0 && this.#readers === 0) this.cancel(reason);
  }

  /** Ends it from outside. What runs is told, and then ended. */
  cancel(reason: string): void {
    this.#controller.abort(failure('EXECUTION_CANCELLED', reason, { cancelled: true }));
  }

  /** Ends it because a limit of the executor is reached. */
  abort(error: Error): void {
    this.#controller.abort(error);
  }

  finish(response: ExecuteToolResponse, bytes = 0): void {
    if (this.#response !== undefined) return;
    this.#response = response;
    this.#responseBytes = bytes;
    this.finishedAt = Date.now();
    this.events.append('result', response);
    this.#finish(response);
  }
}

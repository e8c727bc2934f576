import { randomUUID } from 'node:crypto';
import type { ProxyDecision } from '../sandbox/index.js';
import { EventLog, type EventLogLimits } from './event-log.js';
import { failure } from './failure.js';
import type { ExecuteToolResponse } from './messages.js';

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
  /** What becomes of it when its last reader is away for too long. */
  whenAlone: 'cancel' | 'keep' = 'keep';
  /** Hears of every connection of the tool that the level allowed or refused. */
  onNetworkDecision: ((decision: ProxyDecision) => void) | undefined;
  startedAt: number | undefined;
  finishedAt: number | undefined;
  readonly #controller = new AbortController();
  #finish: (response: ExecuteToolResponse) => void = () => {};
  #response: ExecuteToolResponse | undefined;

  constructor(limits: EventLogLimits, id: string = randomUUID(), createdAt: number = Date.now()) {
    this.id = id;
    this.createdAt = createdAt;
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

  get status(): 'queued' | 'running' | 'succeeded' | 'failed' | 'cancelled' {
    if (this.#response === undefined) return this.startedAt === undefined ? 'queued' : 'running';
    if (this.#response.success) return 'succeeded';
    return this.#response.error.code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
  }

  start(facts: Readonly<Record<string, unknown>>): void {
    this.startedAt = Date.now();
    this.events.append('start', { executionId: this.id, ...facts });
  }

  /** Ends it from outside. What runs is told, and then ended. */
  cancel(reason: string): void {
    this.#controller.abort(failure('EXECUTION_CANCELLED', reason, { cancelled: true }));
  }

  /** Ends it because a limit of the executor is reached. */
  abort(error: Error): void {
    this.#controller.abort(error);
  }

  finish(response: ExecuteToolResponse): void {
    if (this.#response !== undefined) return;
    this.#response = response;
    this.finishedAt = Date.now();
    this.events.append('result', response);
    this.#finish(response);
  }
}

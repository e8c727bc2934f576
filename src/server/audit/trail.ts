import type { Caller } from '../access/caller.js';
import type { ServerLimits } from '../limits.js';
import { AuditedExecution } from './execution.js';
import type { AskedFor, AuditEvent, ExecutionKind, ExecutionRecord } from './record.js';

export interface TrailOptions {
  /** Read anew each time: they may change. */
  readonly limits: Pick<ServerLimits, 'auditRecords' | 'auditCapabilities'>;
  readonly scrub?: (text: string) => string;
  readonly now?: () => number;
}

export interface Filter {
  readonly kind?: ExecutionKind | undefined;
  readonly status?: ExecutionRecord['status'] | undefined;
  /** The name of a key; null for those without one. */
  readonly key?: string | null | undefined;
  /** Created at this time or later. */
  readonly since?: number | undefined;
  /** Where the page before ended. */
  readonly before?: number | undefined;
}

export interface Page {
  readonly executions: readonly ExecutionRecord[];
  /** What `before` of the next page is; nothing on the last one. */
  readonly next: number | undefined;
}

/** All executions of all boundaries: those that run, and the latest that ran. */
export class AuditTrail {
  readonly #options: TrailOptions;
  readonly #records = new Map<string, { readonly number: number; readonly execution: AuditedExecution }>();
  readonly #active = new Set<AuditedExecution>();
  readonly #listeners = new Set<(event: AuditEvent) => void>();
  #next = 1;
  #whenIdle: (() => void)[] = [];

  constructor(options: TrailOptions) {
    this.#options = options;
  }

  get active(): number {
    return this.#active.size;
  }

  get running(): Iterable<AuditedExecution> {
    return this.#active;
  }

  /** Executions of one key that have not ended. */
  activeOf(key: string): number {
    let count = 0;
    for (const execution of this.#active) if (execution.keyName === key) count += 1;
    return count;
  }

  /** Executions of one request or connection that have not ended. */
  activeFor(caller: Caller): number {
    let count = 0;
    for (const execution of this.#active) if (execution.caller === caller) count += 1;
    return count;
  }

  /** Opens a record. Whoever opens it ends it. */
  open(asked: AskedFor, caller: Caller | undefined): AuditedExecution {
    const { limits, scrub = (text) => text, now = Date.now } = this.#options;
    const execution = new AuditedExecution(asked, caller, {
      maxCapabilities: limits.auditCapabilities,
      scrub,
      now,
      ticks: () => performance.now(),
      tell: (event) => this.#tell(event),
    });
    this.#active.add(execution);
    this.#records.set(execution.id, { number: this.#next, execution });
    this.#next += 1;
    this.#trim();
    void execution.done.then(() => {
      this.#active.delete(execution);
      if (this.#active.size > 0) return;
      for (const resolve of this.#whenIdle.splice(0)) resolve();
    });
    execution.announce();
    return execution;
  }

  find(id: string): AuditedExecution | undefined {
    return this.#records.get(id)?.execution;
  }

  /** The latest executions first. */
  page(filter: Filter, limit: number): Page {
    const executions: ExecutionRecord[] = [];
    let last: number | undefined;
    for (const { number, execution } of [...this.#records.values()].reverse()) {
      if (filter.before !== undefined && number >= filter.before) continue;
      if (filter.key !== undefined && execution.keyName !== filter.key) continue;
      if (filter.kind !== undefined && execution.kind !== filter.kind) continue;
      const record = execution.record();
      if (filter.status !== undefined && record.status !== filter.status) continue;
      if (filter.since !== undefined && Date.parse(record.createdAt) < filter.since) continue;
      if (executions.length === limit) return { executions, next: last };
      executions.push(record);
      last = number;
    }
    return { executions, next: undefined };
  }

  /** Hears everything from now on. Returns how to stop. */
  onEvent(listener: (event: AuditEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (this.#active.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  #tell(event: AuditEvent): void {
    for (const listener of this.#listeners) listener(event);
  }

  #trim(): void {
    let surplus = this.#records.size - this.#active.size - this.#options.limits.auditRecords;
    if (surplus <= 0) return;
    for (const [id, { execution }] of this.#records) {
      if (execution.active) continue;
      this.#records.delete(id);
      surplus -= 1;
      if (surplus <= 0) return;
    }
  }
}

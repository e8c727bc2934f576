import { randomUUID } from 'node:crypto';
import { printable } from '../../wire/index.js';
import type { Caller } from '../access/caller.js';
import { MAX_AUDIT_TEXT } from '../limits.js';
import type { AskedFor, AuditEvent, Capability, ExecutionRecord, Outcome } from './record.js';

const iso = (at: number): string => new Date(at).toISOString();

export interface Listener {
  readonly maxCapabilities: number;
  readonly tell: (event: AuditEvent) => void;
  readonly now: () => number;
  /** A clock that never goes back, for durations: the other one is set now and then. */
  readonly ticks: () => number;
  /** Makes text fit to be kept: no secrets, no control characters. */
  readonly scrub: (text: string) => string;
}

/**
 * One execution in the audit trail.
 *
 *     queued ──started()──▶ running ──ended()──▶ succeeded | failed | cancelled
 *        └──────────────────ended()──────────────▲
 */
export class AuditedExecution {
  readonly id: string;
  readonly caller: Caller | undefined;
  /** Resolves when it has ended. */
  readonly done: Promise<void>;
  readonly #asked: AskedFor;
  readonly #listener: Listener;
  readonly #createdAt: number;
  readonly #from: number;
  readonly #capabilities: Capability[] = [];
  readonly #counts = new Map<string, number>();
  #label: string;
  #startedAt: number | undefined;
  #finishedAt: number | undefined;
  #durationMs: number | undefined;
  #outcome: Outcome | undefined;
  #resolve: () => void = () => {};

  constructor(asked: AskedFor, caller: Caller | undefined, listener: Listener) {
    this.id = asked.id ?? randomUUID();
    this.caller = caller;
    this.#asked = asked;
    this.#label = listener.scrub(printable(asked.label, MAX_AUDIT_TEXT));
    this.#listener = listener;
    this.#createdAt = listener.now();
    this.#from = listener.ticks();
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  get kind(): AskedFor['kind'] {
    return this.#asked.kind;
  }

  get outcome(): Outcome | undefined {
    return this.#outcome;
  }

  get active(): boolean {
    return this.#outcome === undefined;
  }

  get keyName(): string | null {
    return this.caller?.key?.name ?? null;
  }

  get durationMs(): number | undefined {
    return this.#durationMs;
  }

  /** Tells of it. */
  announce(): void {
    this.#tell('created');
  }

  started(label?: string): void {
    if (label !== undefined) this.#label = this.#listener.scrub(printable(label, MAX_AUDIT_TEXT));
    if (this.#startedAt !== undefined || this.#outcome !== undefined) return;
    this.#startedAt = this.#listener.now();
    this.#tell('started');
  }

  /** Notes what it did or was refused. */
  used(capability: Omit<Capability, 'at'>): void {
    const { maxCapabilities, now, tell, scrub } = this.#listener;
    this.#counts.set(capability.type, (this.#counts.get(capability.type) ?? 0) + 1);
    const { reason } = capability;
    const noted: Capability = {
      ...capability,
      name: scrub(printable(capability.name, MAX_AUDIT_TEXT)),
      at: iso(now()),
      ...(reason === undefined ? {} : { reason: scrub(printable(reason, MAX_AUDIT_TEXT)) }),
    };
    if (this.#capabilities.length < maxCapabilities) this.#capabilities.push(noted);
    tell({ type: 'capability', executionId: this.id, kind: this.kind, capability: noted, key: this.keyName });
  }

  ended(outcome: Outcome): void {
    if (this.#outcome !== undefined) return;
    this.#outcome = outcome;
    this.#finishedAt = this.#listener.now();
    this.#durationMs = Math.round(this.#listener.ticks() - this.#from);
    this.#tell('ended');
    this.#resolve();
  }

  /** It is left for the next server, queued as it is: nothing to wait for here. */
  putOff(): void {
    this.#resolve();
  }

  /** Asks it to end. */
  cancel(reason = 'the server is shutting down'): void {
    this.#asked.cancel?.(reason);
  }

  record(): ExecutionRecord {
    const { kind, via, isolation, limits } = this.#asked;
    const outcome = this.#outcome;
    const { durationMs } = this;
    const message = outcome?.message;
    return {
      executionId: this.id,
      kind,
      via,
      label: this.#label,
      by: { key: this.keyName, address: this.caller?.address ?? null },
      isolation,
      limits,
      status: outcome?.status ?? (this.#startedAt === undefined ? 'queued' : 'running'),
      createdAt: iso(this.#createdAt),
      ...(this.#startedAt === undefined ? {} : { startedAt: iso(this.#startedAt) }),
      ...(this.#finishedAt === undefined ? {} : { finishedAt: iso(this.#finishedAt) }),
      ...(durationMs === undefined ? {} : { durationMs }),
      ...(outcome === undefined
        ? {}
        : {
            outcome: {
              code: outcome.code,
              ...(message === undefined ? {} : { message: this.#listener.scrub(printable(message, MAX_AUDIT_TEXT)) }),
            },
          }),
      capabilities: [...this.#capabilities],
      capabilityCounts: Object.fromEntries(this.#counts),
    };
  }

  #tell(type: 'created' | 'started' | 'ended'): void {
    this.#listener.tell({ type, execution: this.record(), key: this.keyName });
  }
}

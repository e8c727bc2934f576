import type { Execution } from './execution.js';
import { IdempotencyKeys, type KeyUse } from './idempotency.js';

/** What an execution costs beside its response and its events. */
const OWN_BYTES = 2 * 1024;

export interface KnownExecutionsOptions {
  readonly keepMs: number;
  readonly maxBytes: number;
}

/**
 * Executions that can be asked for, by their id or by the key that they were sent with: those that have not ended, and the
 * latest that have, for a time and up to a size.
 */
export class KnownExecutions {
  readonly #options: KnownExecutionsOptions;
  readonly #byId = new Map<string, Execution>();
  readonly #keys = new IdempotencyKeys();
  /** Those that have ended, the oldest first. */
  readonly #ended = new Map<Execution, { readonly bytes: number; readonly timer: NodeJS.Timeout }>();
  #bytes = 0;

  constructor(options: KnownExecutionsOptions) {
    this.#options = options;
  }

  get(id: string): Execution | undefined {
    return this.#byId.get(id);
  }

  /** The execution that a key stands for. Throws IDEMPOTENCY_CONFLICT when the key came with another body. */
  find(key: KeyUse): Execution | undefined {
    return this.#keys.find(key);
  }

  [Symbol.iterator](): Iterator<Execution> {
    return this.#byId.values();
  }

  add(execution: Execution, key?: KeyUse): void {
    if (key !== undefined) this.#keys.set(key, execution);
    this.#byId.set(execution.id, execution);
    void execution.done.then(() => this.#keep(execution));
  }

  #keep(execution: Execution): void {
    const { keepMs, maxBytes } = this.#options;
    const bytes = OWN_BYTES + execution.responseBytes + execution.events.bytes;
    const timer = setTimeout(() => this.#forget(execution), keepMs).unref();
    this.#ended.set(execution, { bytes, timer });
    this.#bytes += bytes;
    for (const oldest of this.#ended.keys()) {
      if (this.#bytes <= maxBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(execution: Execution): void {
    const kept = this.#ended.get(execution);
    if (kept === undefined) return;
    clearTimeout(kept.timer);
    this.#bytes -= kept.bytes;
    this.#ended.delete(execution);
    this.#byId.delete(execution.id);
    this.#keys.forget(execution);
  }
}

import { keepTrying } from '../async/keep-trying.js';
import type { AsyncStore, StoredCallback } from '../async/store.js';
import type { AddressPolicy } from './address.js';
import { type Delivery, sendWebhook } from './send.js';
import { signedHeaders } from './sign.js';

/** Webhooks on their way at the same time. */
const AT_ONCE = 8;
/** How far a pause may be off the one that is asked for. */
const JITTER = 0.2;
/** How long to wait after the store could not be asked. */
const STORE_PAUSE_MS = 5_000;
/** A timer cannot wait longer than this in one go. */
const MAX_PAUSE_MS = 60 * 60_000;

export interface DeliveriesOptions {
  readonly store: AsyncStore;
  readonly addresses: AddressPolicy;
  readonly retryMs: readonly number[];
  readonly timeoutMs: number;
}

/** Delivers webhooks until they arrive, with growing pauses. What is due is in the store, so a restart forgets nothing. */
export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #running = new Map<string, Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #disposed = false;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  /** Sends what is due, and wakes up for what is due next. A store that cannot be read now is asked again later. */
  wake(): void {
    if (this.#disposed) return;
    clearTimeout(this.#timer);
    try {
      this.#sendDue();
    } catch {
      this.#wakeIn(STORE_PAUSE_MS);
    }
  }

  #sendDue(): void {
    const now = Date.now();
    const { store, retryMs } = this.#options;
    const due = store.dueCallbacks(now, now + Math.max(0, ...retryMs) * (1 + JITTER), AT_ONCE * 2);
    for (const callback of due) {
      if (this.#running.size >= AT_ONCE) break;
      if (this.#running.has(callback.executionId)) continue;
      const over = (): void => {
        this.#running.delete(callback.executionId);
      };
      const work = this.#deliver(callback).then(
        () => {
          over();
          this.wake();
        },
        () => {
          over();
          this.#wakeIn(STORE_PAUSE_MS);
        },
      );
      this.#running.set(callback.executionId, work);
    }
    const next = store.nextCallbackAt();
    if (next === undefined || this.#running.size >= AT_ONCE) return;
    this.#wakeIn(Math.min(Math.max(next - now, 1_000), MAX_PAUSE_MS));
  }

  #wakeIn(ms: number): void {
    if (this.#disposed) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), ms).unref();
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    clearTimeout(this.#timer);
    await Promise.allSettled(this.#running.values());
  }

  async #deliver(callback: StoredCallback): Promise<void> {
    const { store, addresses, retryMs, timeoutMs } = this.#options;
    const execution = store.get(callback.executionId);
    if (execution?.result === undefined) return;
    const type = `execution.${execution.status}`;
    const timestamp = new Date(execution.finishedAt ?? Date.now()).toISOString();
    const body = `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(timestamp)},"data":${execution.result}}`;
    const headers = signedHeaders(`msg_${execution.id}`, Math.floor(Date.now() / 1_000), body, callback.secret);
    let delivery: Delivery;
    try {
      delivery = await sendWebhook(callback.url, headers, body, addresses, timeoutMs);
    } catch (error) {
      delivery = { ok: false, reason: error instanceof Error ? error.message : String(error) };
    }
    if (this.#disposed && !delivery.ok) return;
    const attempts = callback.attempts + 1;
    const stopped = (): boolean => this.#disposed;
    if (delivery.ok) {
      await keepTrying(() => store.setCallback(callback.executionId, 'delivered', attempts, 0, undefined), stopped);
      return;
    }
    const pause = retryMs[callback.attempts];
    // The receiver says that it is gone for good.
    const over = pause === undefined || delivery.status === 410;
    const [status, nextAt] = over ? (['failed', 0] as const) : (['pending', Date.now() + jittered(pause)] as const);
    const { reason } = delivery;
    await keepTrying(() => store.setCallback(callback.executionId, status, attempts, nextAt, reason), stopped);
  }
}

/** Spreads retries out, so that a receiver that comes back is not met by all of them at once. */
function jittered(ms: number): number {
  return Math.round(ms * (1 - JITTER + Math.random() * 2 * JITTER));
}

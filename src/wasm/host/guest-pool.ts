import { setTimeout as delay } from 'node:timers/promises';
import { isSallyportError, SallyportError } from '../../errors/index.js';
import { BACKOFF_PATIENCE_MS, REFILL_DELAY_MS, START_FAILURES_ALLOWED } from '../limits.js';
import type { WasmEvent } from './events.js';
import { GuestInstance, type InstanceOptions } from './guest-instance.js';
import { StartRecord } from './start-record.js';

export interface PoolOptions {
  readonly instance: Omit<InstanceOptions, 'number'>;
  /** Guests that serve at the same time. */
  readonly size: number;
  /** Guests that are started ahead and wait. */
  readonly warm: number;
  /** Calls after which a guest is replaced. */
  readonly recycleCalls: number;
  /** Bytes in both directions after which a guest is replaced. */
  readonly recycleBytes: number;
  readonly onEvent: (event: WasmEvent) => void;
}

interface Slot {
  instance: GuestInstance | undefined;
  starting: Promise<GuestInstance> | undefined;
}

/**
 * Guests that serve, and spares that wait. A guest that ended or is used up is replaced at the next call; calls are never
 * repeated.
 */
export class GuestPool {
  readonly #options: PoolOptions;
  readonly #slots: Slot[];
  readonly #spares: Promise<GuestInstance>[] = [];
  readonly #all = new Set<GuestInstance>();
  readonly #starts = new StartRecord(() => performance.now());
  #next = 0;
  #disposed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#slots = Array.from({ length: options.size }, () => ({ instance: undefined, starting: undefined }));
    this.#refill();
  }

  /** The guests that run, spares included. */
  get guests(): readonly GuestInstance[] {
    return [...this.#all].filter((instance) => instance.alive);
  }

  /** The least busy guest that is there already, so that the common call costs no promise. */
  ready(): GuestInstance | undefined {
    let best: GuestInstance | undefined;
    for (const slot of this.#slots) {
      const instance = this.#usable(slot);
      // An empty place is better than a busy guest.
      if (instance === undefined) return best?.load === 0 ? best : undefined;
      if (best === undefined || instance.load < best.load) best = instance;
    }
    return best;
  }

  /** A guest to call, started if need be. Rejects with the reason why there is none. */
  async acquire(): Promise<GuestInstance> {
    if (this.#disposed) throw disposed();
    const ready = this.ready();
    if (ready !== undefined) return ready;
    const empty = this.#slots.filter((slot) => this.#usable(slot) === undefined);
    const free = empty.find((slot) => slot.starting === undefined);
    if (free !== undefined) {
      free.starting = this.#fill(free).finally(() => {
        free.starting = undefined;
      });
      return free.starting;
    }
    // All that are missing are on their way. Whoever comes first takes the call, unless another is less busy by then.
    const started = await Promise.race(empty.map((slot) => slot.starting));
    return this.ready() ?? started ?? this.acquire();
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await Promise.allSettled(this.#spares.splice(0));
    await Promise.allSettled(this.#slots.map((slot) => slot.starting));
    await Promise.all([...this.#all].map((instance) => instance.dispose()));
  }

  #usable(slot: Slot): GuestInstance | undefined {
    const { instance } = slot;
    if (instance === undefined) return undefined;
    if (!instance.alive) {
      slot.instance = undefined;
      return undefined;
    }
    const { recycleCalls, recycleBytes } = this.#options;
    if (instance.calls < recycleCalls && instance.bytes < recycleBytes) return instance;
    slot.instance = undefined;
    void this.#retire(instance);
    return undefined;
  }

  async #fill(slot: Slot): Promise<GuestInstance> {
    const instance = await this.#take();
    slot.instance = instance;
    return instance;
  }

  async #take(): Promise<GuestInstance> {
    for (;;) {
      const spare = this.#spares.shift();
      if (spare === undefined) break;
      const instance = await spare.catch(() => undefined);
      this.#refillSoon();
      if (instance?.alive !== true) continue;
      if (instance.hasSpoken) this.#starts.succeeded();
      return instance;
    }
    const pause = this.#starts.pauseMs;
    if (pause > BACKOFF_PATIENCE_MS) throw this.#starts.refusal();
    if (pause > 0) await delay(pause);
    const instance = await this.#start();
    this.#refillSoon();
    return instance;
  }

  async #start(): Promise<GuestInstance> {
    if (this.#disposed) throw disposed();
    this.#next += 1;
    const instance = await GuestInstance.start({ ...this.#options.instance, number: this.#next }).catch(
      (error: unknown) => {
        if (isSallyportError(error)) this.#failed(error);
        throw error;
      },
    );
    this.#all.add(instance);
    void instance.ended.then((error) => {
      this.#all.delete(instance);
      if (error !== undefined && failedAtStart(instance, error)) this.#failed(error);
    });
    void instance.spoken.then(() => {
      if (instance.calls > 0) this.#starts.succeeded();
      this.#refillSoon();
    });
    if (this.#disposed) {
      await instance.dispose();
      throw disposed();
    }
    return instance;
  }

  #failed(error: SallyportError): void {
    const retryInMs = this.#starts.failed(error);
    if (retryInMs > 0) this.#options.onEvent({ type: 'backoff', failures: this.#starts.failures, retryInMs, error });
  }

  /** Starting a process takes milliseconds of this thread, and whoever got a guest is about to call it. */
  #refillSoon(): void {
    setTimeout(() => this.#refill(), REFILL_DELAY_MS).unref();
  }

  /** Starts what is missing. After too many failures in a row it waits for a call to show that the guest works. */
  #refill(): void {
    const { warm } = this.#options;
    while (!this.#disposed && this.#spares.length < warm && this.#starts.failures < START_FAILURES_ALLOWED) {
      const spare = this.#start();
      this.#spares.push(spare);
      const gone = (): void => {
        const at = this.#spares.indexOf(spare);
        if (at !== -1) this.#spares.splice(at, 1);
      };
      spare.then((instance) => {
        void instance.ended.then(() => {
          gone();
          this.#refill();
        });
      }, gone);
    }
  }

  /** Lets a used-up guest finish what it has, then ends it. */
  async #retire(instance: GuestInstance): Promise<void> {
    this.#options.onEvent({ type: 'recycled', guest: instance.number, calls: instance.calls, bytes: instance.bytes });
    await instance.idle();
    await instance.dispose();
  }
}

/**
 * Whether a guest failed to start. One that was called and broke the rules or took too long did start; one that ended before
 * anybody called it did not, whatever it did.
 */
function failedAtStart({ calls, hasSpoken }: GuestInstance, { code }: SallyportError): boolean {
  if (calls === 0) return true;
  if (hasSpoken) return false;
  return (
    code === 'WASM_START_FAILED' || code === 'WASM_START_TIMEOUT' || code === 'WASM_EXITED' || code === 'WASM_TRAPPED'
  );
}

function disposed(): SallyportError {
  return new SallyportError('WASM_DISPOSED', 'the client was disposed');
}

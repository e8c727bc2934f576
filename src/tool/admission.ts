import { failure, type ToolFailureError } from './failure.js';
import type { ToolLimits } from './limits.js';

/** The work that is under way, and whether more of it is taken on. */
export class Admission {
  readonly #limits: ToolLimits;
  readonly #underWay = new Set<Promise<unknown>>();
  #shut = false;
  #total = 0;

  constructor(limits: ToolLimits) {
    this.#limits = limits;
  }

  /** All that was ever taken on. */
  get total(): number {
    return this.#total;
  }

  /** Throws OVERLOADED when nothing more is taken on. */
  check(): void {
    if (this.#shut) throw this.#overloaded('the executor is being shut down');
    const { maxExecutions, maxQueued, retryAfterSeconds } = this.#limits;
    const { size } = this.#underWay;
    if (size < maxExecutions + maxQueued) return;
    throw this.#overloaded(`${size} requests are under way already; try again in ${retryAfterSeconds} s`);
  }

  /** Counts work until it ends, however it ends. */
  track<T>(work: Promise<T>): Promise<T> {
    this.#total += 1;
    this.#underWay.add(work);
    const over = (): void => {
      this.#underWay.delete(work);
    };
    work.then(over, over);
    return work;
  }

  /** Takes nothing more on. */
  shut(): void {
    this.#shut = true;
  }

  /** Resolves when what is under way now has ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  #overloaded(reason: string): ToolFailureError {
    return failure('OVERLOADED', reason, { retryAfterSeconds: this.#limits.retryAfterSeconds }, { retryable: true });
  }
}

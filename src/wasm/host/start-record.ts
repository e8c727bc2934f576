import { SallyportError } from '../../errors/index.js';
import { BACKOFF_FIRST_MS, BACKOFF_MAX_MS, START_FAILURES_ALLOWED } from '../limits.js';

/** Remembers how starts went, and says how long the next one has to wait. */
export class StartRecord {
  #failures = 0;
  #until = 0;
  #last: SallyportError | undefined;
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  get failures(): number {
    return this.#failures;
  }

  /** Milliseconds until the next attempt is allowed. */
  get pauseMs(): number {
    return Math.max(0, this.#until - this.#now());
  }

  succeeded(): void {
    this.#failures = 0;
    this.#until = 0;
  }

  /** Notes a failed start. Returns the pause that follows, which is 0 for the first few. */
  failed(error: SallyportError): number {
    this.#failures += 1;
    this.#last = error;
    const beyond = this.#failures - START_FAILURES_ALLOWED;
    if (beyond < 0) return 0;
    const pause = Math.min(BACKOFF_FIRST_MS * 2 ** beyond, BACKOFF_MAX_MS);
    this.#until = this.#now() + pause;
    return pause;
  }

  /** The error for a call that comes during the pause. */
  refusal(): SallyportError {
    const retryInMs = Math.ceil(this.pauseMs);
    const last = this.#last;
    const message = `the guest failed at its start ${this.#failures} times in a row; the next attempt is in ${retryInMs} ms. The last time: ${last?.message ?? 'unknown'}`;
    const facts = { ...last?.facts, retryInMs, failures: this.#failures, lastCode: last?.code ?? null };
    return new SallyportError('WASM_BACKOFF', message, facts, { cause: last });
  }
}

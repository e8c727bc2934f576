import { lockFile } from '../file-lock.js';

/**
 * Says whose the async executions of a cache folder are: two servers that both took up what the last one left would fail
 * what the other one runs.
 */
export class StoreLock {
  readonly #file: string;
  #lock: Disposable | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  get held(): boolean {
    return this.#lock !== undefined;
  }

  /** Takes it, unless somebody else has it. Says whether it is held now. */
  take(): boolean {
    this.#lock ??= lockFile(this.#file, 'exclusive');
    return this.held;
  }

  release(): void {
    this.#lock?.[Symbol.dispose]();
    this.#lock = undefined;
  }
}

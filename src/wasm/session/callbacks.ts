import type { Callback } from './extract.js';
import { IdCounter } from './ids.js';

/** Functions that were passed in the parameters of calls: the peer may call each until its call has ended. */
export class Callbacks {
  readonly #open = new Map<string, Callback>();
  readonly #ids = new IdCounter('cb_');

  /** Registers one, and gives it the name that takes its place. */
  open(callback: Callback): string {
    const id = this.#ids.issue();
    this.#open.set(id, callback);
    return id;
  }

  get(name: string): Callback | undefined {
    return this.#open.get(name);
  }

  /** Tells whether a name was a callback once. */
  expired(name: string): boolean {
    return this.#ids.issued(name);
  }

  close(ids: readonly string[]): void {
    for (const id of ids) this.#open.delete(id);
  }

  clear(): void {
    this.#open.clear();
  }
}

/** Remembers the last ids that were used, at least half as many as it may hold. Two generations, so that nothing is ever searched. */
export class RecentIds {
  readonly #half: number;
  #young = new Set<string>();
  #old = new Set<string>();

  constructor(capacity: number) {
    this.#half = Math.max(1, capacity / 2);
  }

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  add(id: string): void {
    if (this.#young.size >= this.#half) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }
}

/**
 * Tells whether any list in a value has two equal items, in time that grows with the value and not with its square. What is
 * nested too deep to be looked at may have.
 */
export function hasRepeatedItems(value: unknown): boolean {
  try {
    const numbers = new Numbers();
    numbers.of(value);
    return numbers.repeated;
  } catch (error) {
    if (error instanceof RangeError) return true;
    throw error;
  }
}

/** Gives equal values equal numbers, and others others. */
class Numbers {
  repeated = false;
  readonly #scalars = new Map<unknown, number>();
  readonly #containers = new Map<string, number>();
  #last = 0;

  of(value: unknown): number {
    if (typeof value !== 'object' || value === null) return this.#numberIn(this.#scalars, value);
    if (Array.isArray(value)) {
      const items = value.map((item) => this.of(item));
      if (new Set(items).size < items.length) this.repeated = true;
      return this.#numberIn(this.#containers, `[${items.join()}`);
    }
    const parts = Object.entries(value).map(([key, item]) => `${this.of(key)}:${this.of(item)}`);
    return this.#numberIn(this.#containers, `{${parts.sort().join()}`);
  }

  #numberIn<Key>(known: Map<Key, number>, key: Key): number {
    const found = known.get(key);
    if (found !== undefined) return found;
    this.#last += 1;
    known.set(key, this.#last);
    return this.#last;
  }
}

// The books: every execution that was asked for, and what became of it.

/** How long after a fault its consequences may still show: a pool refills, an install is tried again, a port is taken up. */
const AFTERMATH_MS = 8_000;

export class Ledger {
  #open = new Map();
  #next = 0;
  #outcomes = new Map();
  #unexplained = [];
  #faults = [];
  asked = 0;

  /** Opens an entry and returns how to close it: with `ok`, or with the code of what went wrong. */
  ask(kind) {
    const id = this.#next;
    this.#next += 1;
    this.asked += 1;
    const from = performance.now();
    this.#open.set(id, { kind, from });
    return (outcome, message = '') => {
      this.#open.delete(id);
      const key = `${kind}: ${outcome}`;
      this.#outcomes.set(key, (this.#outcomes.get(key) ?? 0) + 1);
      if (outcome !== 'ok' && !this.#explains(from))
        this.#unexplained.push({ kind, outcome, message: message.slice(0, 300) });
    };
  }

  /** Notes a fault, and returns how to note its end. */
  fault(name) {
    const fault = { name, from: performance.now(), until: Number.POSITIVE_INFINITY };
    this.#faults.push(fault);
    return () => {
      fault.until = performance.now() + AFTERMATH_MS;
    };
  }

  get faults() {
    return this.#faults;
  }

  get inFlight() {
    return this.#open.size;
  }

  summary() {
    const counts = new Map();
    for (const { name } of this.#faults) counts.set(name, (counts.get(name) ?? 0) + 1);
    return {
      asked: this.asked,
      answered: [...this.#outcomes.values()].reduce((sum, count) => sum + count, 0),
      unanswered: [...this.#open.values()].map(({ kind }) => kind),
      outcomes: Object.fromEntries([...this.#outcomes].sort()),
      faults: Object.fromEntries([...counts].sort()),
      unexplained: this.#unexplained,
    };
  }

  /** Whether a fault overlaps with what began then and ends now. */
  #explains(from) {
    return this.#faults.some((fault) => fault.until >= from);
  }
}

import type { Problem } from '../http/problem.js';

/** Something that was let in and is still open. */
export interface Admission {
  /** Says why it would not be let in now, or nothing. */
  readonly refused: () => Problem | undefined;
  /** Ends it. */
  readonly end: (reason: string) => void;
}

/** What was let in and is still open: sockets, and requests without their answer. */
export class Admissions {
  readonly #open = new Set<Admission>();

  /** Keeps it in view. Returns how to say that it is over. */
  add(admission: Admission): () => void {
    this.#open.add(admission);
    return () => this.#open.delete(admission);
  }

  /** Ends what would not be let in any more. */
  review(): void {
    for (const { refused, end } of [...this.#open]) {
      const problem = refused();
      if (problem !== undefined) end(problem.message);
    }
  }
}

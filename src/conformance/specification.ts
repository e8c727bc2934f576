/**
 * One normative sentence of a specification. It is either tested (checks cite its id) or says why no check can: never
 * both, never neither; a test holds this.
 */
export interface Sentence {
  /** Stable and unique over all texts: `execbox-runner.session.one-done`. */
  readonly id: string;
  /** The heading under which it stands. */
  readonly section: string;
  /** As few of its own words as find it. */
  readonly quote: string;
  /** Why no black-box check is possible. */
  readonly untested?: string;
}

/** The normative sentences of one text, in its order. */
export interface Specification {
  readonly id: string;
  readonly title: string;
  readonly sentences: readonly Sentence[];
}

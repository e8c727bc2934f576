import type { Answer, Fortress, Level } from './fortress.js';

/** Something that is done to a server from the outside, or by code that it runs, and what must come of it. */
export interface Attack {
  readonly id: string;
  readonly what: string;
  /** Does it, and returns what came back. */
  readonly attack: (fortress: Fortress) => Promise<Answer>;
  /** What must have come back: something to be matched, or a check of its own. */
  readonly expected: object | RegExp | ((answer: Answer, fortress: Fortress) => void);
  /** The levels that claim to stop it. All, unless said otherwise. */
  readonly levels?: readonly Level[];
  /** How long it may take, normal requests afterwards not counted. */
  readonly withinMs?: number;
}

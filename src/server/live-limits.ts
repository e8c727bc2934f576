import { availableParallelism } from 'node:os';
import { DEFAULT_SERVER_LIMITS, type ServerLimits } from './limits.js';

/** What pools and parsers are made with at the start, and keep. */
const FIXED = ['guests', 'bodyBytes', 'bodyDepth', 'bodyValues'] as const satisfies readonly (keyof ServerLimits)[];

function complete(given: Partial<ServerLimits> | undefined): ServerLimits {
  const limits = { ...DEFAULT_SERVER_LIMITS, ...given };
  return limits.guests > 0 ? limits : { ...limits, guests: Math.max(2, availableParallelism()) };
}

/** The limits of a server that runs. Who reads them when they are needed finds the newest ones. */
export class LiveLimits {
  /** Always the same object, with the values of now. */
  readonly values: ServerLimits;

  constructor(given: Partial<ServerLimits> | undefined) {
    this.values = complete(given);
  }

  /** Takes up new ones, and returns the names of those that would need a new start. */
  replace(given: Partial<ServerLimits> | undefined): readonly (keyof ServerLimits)[] {
    const next = complete(given);
    const kept = FIXED.filter((name) => next[name] !== this.values[name]);
    const old = Object.fromEntries(FIXED.map((name) => [name, this.values[name]]));
    Object.assign(this.values, next, old);
    return kept;
  }
}

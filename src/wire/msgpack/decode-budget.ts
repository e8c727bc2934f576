import { DEPTH_CEILING, MAX_DEPTH, MAX_FRAME_BYTES, MAX_VALUES } from '../limits.js';

/** What one message may cost its receiver. */
export interface DecodeBudget {
  /** Most bytes of input. Default: 16 MiB. */
  readonly bytes: number;
  /** Most arrays and maps inside each other; a scalar has depth 0, `[]` has depth 1. Default: 64, at most 512. */
  readonly depth: number;
  /** Most values, containers included, keys not. Default: 262,144. */
  readonly values: number;
}

export const DEFAULT_BUDGET: DecodeBudget = { bytes: MAX_FRAME_BYTES, depth: MAX_DEPTH, values: MAX_VALUES };

/** Fills in defaults and caps the depth. */
export function completeBudget(budget: Partial<DecodeBudget>): DecodeBudget {
  return {
    bytes: budget.bytes ?? DEFAULT_BUDGET.bytes,
    depth: Math.min(budget.depth ?? DEFAULT_BUDGET.depth, DEPTH_CEILING),
    values: budget.values ?? DEFAULT_BUDGET.values,
  };
}

import type { WireValue } from '../../wire/index.js';
import { CONTAINER_COST_BYTES } from '../limits.js';

/** What a received value costs while it is kept: its bytes on the wire, and what it takes in the heap beyond them. */
export function heapCost(value: WireValue | undefined, bytes: number): number {
  return bytes + overhead(value ?? null);
}

function overhead(value: WireValue): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return CONTAINER_COST_BYTES;
  let cost = CONTAINER_COST_BYTES;
  if (Array.isArray(value)) for (const item of value) cost += 8 + (typeof item === 'object' ? overhead(item) : 0);
  else for (const key in value) cost += 8 + (typeof value[key] === 'object' ? overhead(value[key] ?? null) : 0);
  return cost;
}

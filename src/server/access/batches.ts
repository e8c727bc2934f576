import type { Problem } from '../http/problem.js';
import type { Caller } from './caller.js';
import type { Quotas } from './quotas.js';

/** What a batch asks for, as far as it counts here. */
interface AskedBatch {
  readonly body: object;
  readonly items: number;
  /** How many of them may run at once. */
  readonly width: number;
}

/** Reads a batch. What is none is refused by the tool boundary, with the reason. */
function askedBatch(body: unknown, maxWidth: number): AskedBatch | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const items: unknown = Reflect.get(body, 'items');
  const concurrency: unknown = Reflect.get(body, 'concurrency') ?? maxWidth;
  if (!Array.isArray(items) || items.length === 0) return undefined;
  if (typeof concurrency !== 'number' || !Number.isInteger(concurrency) || concurrency < 1) return undefined;
  const sequential = Reflect.get(body, 'mode') === 'sequential';
  return { body, items: items.length, width: sequential ? 1 : Math.min(concurrency, items.length, maxWidth) };
}

/**
 * Counts every item of a batch, and has it run no more of them at once than the key has places left. Says why it may not start
 * now, or returns how to give the places back.
 */
export function admitBatch(
  body: unknown,
  caller: Caller,
  quotas: Quotas,
  maxWidth: number,
): { readonly problem: Problem } | { readonly problem?: undefined; readonly release: () => void } {
  const asked = askedBatch(body, maxWidth);
  const problem = quotas.charge(caller, asked?.items);
  if (problem !== undefined) return { problem };
  if (asked === undefined) return { release: () => {} };
  const { places, release } = quotas.hold(caller, asked.width);
  if (places < asked.width) Reflect.set(asked.body, 'concurrency', places);
  return { release };
}

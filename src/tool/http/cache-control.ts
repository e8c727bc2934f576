import { failure } from '../failure.js';
import type { Freshness } from '../install/resolver.js';

const SECOND_MS = 1_000;

/** Reads `X-TPMJS-Cache-Control`. Throws INVALID_REQUEST. */
export function freshnessOf(header: string | readonly string[] | undefined): Freshness {
  if (header === undefined) return { kind: 'default' };
  const text = (typeof header === 'string' ? header : header.join(',')).trim().toLowerCase();
  if (text === '') return { kind: 'default' };
  if (text === 'no-cache') return { kind: 'no-cache' };
  if (text === 'only-if-cached') return { kind: 'only-if-cached' };
  const age = /^max-age=(\d{1,9})$/.exec(text)?.[1];
  if (age !== undefined) return { kind: 'max-age', ms: Number(age) * SECOND_MS };
  throw failure(
    'INVALID_REQUEST',
    `X-TPMJS-Cache-Control: must be no-cache, only-if-cached or max-age=<seconds>; it is ${JSON.stringify(text.slice(0, 80))}`,
    {
      field: 'X-TPMJS-Cache-Control',
    },
  );
}

import type { AuditTrail } from '../audit/trail.js';
import type { Problem } from '../http/problem.js';
import type { Caller } from './caller.js';
import type { Boundary, Key, KeyRing } from './keys.js';

const MINUTE_MS = 60_000;
const RETRY_AFTER_SECONDS = 1;

interface Bucket {
  tokens: number;
  at: number;
}

/** What keys may do, and how often: asked before each execution and each connection. */
export class Quotas {
  readonly #keys: KeyRing;
  readonly #trail: AuditTrail;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  #closed = false;

  constructor(keys: KeyRing, trail: AuditTrail, now: () => number = () => performance.now()) {
    this.#keys = keys;
    this.#trail = trail;
    this.#now = now;
  }

  /** Refuses everything from now on: what runs may finish. */
  close(): void {
    this.#closed = true;
  }

  /** Says that nothing new is taken on, or nothing. */
  closed(): Problem | undefined {
    if (!this.#closed) return undefined;
    const details = { retryAfterSeconds: RETRY_AFTER_SECONDS };
    return { status: 503, code: 'DRAINING', message: 'the server is shutting down', details };
  }

  /** Says that a caller's key is gone, or that one is needed by now, or nothing. */
  withdrawn({ key }: Caller): Problem | undefined {
    if (key === undefined ? !this.#keys.required : this.#keys.current(key) !== undefined) return undefined;
    const message = key === undefined ? 'an API key is needed by now' : 'the API key was withdrawn';
    return { status: 401, code: 'UNAUTHORIZED', message };
  }

  /** Says why a caller may not use a boundary, or nothing. */
  forbids(caller: Caller, boundary: Boundary): Problem | undefined {
    const withdrawn = this.withdrawn(caller);
    if (withdrawn !== undefined) return withdrawn;
    const rules = this.#rulesOf(caller);
    if (rules?.boundaries === undefined || rules.boundaries.includes(boundary)) return undefined;
    return {
      status: 403,
      code: 'FORBIDDEN',
      message: `the key ${JSON.stringify(rules.name)} is not for the boundary ${boundary}; it is for ${rules.boundaries.join(', ')}`,
    };
  }

  /** Says why a caller may not use a thing by its name, or nothing. */
  restricts(caller: Caller, list: 'modules' | 'packages' | 'programs', name: string): Problem | undefined {
    const withdrawn = this.withdrawn(caller);
    if (withdrawn !== undefined) return withdrawn;
    const rules = this.#rulesOf(caller);
    const allowed = rules?.policy?.[list];
    if (allowed === undefined || allowed.includes(name)) return undefined;
    return {
      status: 403,
      code: 'FORBIDDEN',
      message: `the key ${JSON.stringify(rules?.name)} may not use ${JSON.stringify(name.slice(0, 100))}`,
    };
  }

  /** Counts one execution of a caller, or says why it may not start now. */
  charge(caller: Caller): Problem | undefined {
    const refused = this.closed() ?? this.withdrawn(caller);
    if (refused !== undefined) return refused;
    const rules = this.#rulesOf(caller);
    if (rules === undefined) return undefined;
    const { name, concurrency, ratePerMinute } = rules;
    if (concurrency !== undefined && this.#trail.activeOf(name) >= concurrency) {
      return limited(`the key ${JSON.stringify(name)} has ${concurrency} executions under way, which is its limit`);
    }
    if (ratePerMinute === undefined || this.#take(name, ratePerMinute)) return undefined;
    return limited(`the key ${JSON.stringify(name)} has used up its ${ratePerMinute} executions per minute`);
  }

  /** What holds for a caller's key now. */
  #rulesOf({ key }: Caller): Key | undefined {
    return key === undefined ? undefined : this.#keys.current(key);
  }

  #take(name: string, perMinute: number): boolean {
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { tokens: perMinute, at: now };
    const refilled = bucket.tokens + ((now - bucket.at) * perMinute) / MINUTE_MS;
    bucket.tokens = Math.min(perMinute, refilled);
    bucket.at = now;
    this.#buckets.set(name, bucket);
    if (bucket.tokens < 1) return false;
    bucket.tokens -= 1;
    return true;
  }
}

function limited(message: string): Problem {
  return { status: 429, code: 'RATE_LIMITED', message, details: { retryAfterSeconds: RETRY_AFTER_SECONDS } };
}

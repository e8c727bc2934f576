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

/** Places that are kept for a batch. */
interface Held {
  readonly caller: Caller;
  readonly name: string;
  readonly places: number;
}

/** What keys may do, and how often: asked before each execution and each connection. */
export class Quotas {
  readonly #keys: KeyRing;
  readonly #trail: AuditTrail;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();
  readonly #held = new Set<Held>();
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

  /** Says why a caller may not start an execution now, or nothing. Nothing is counted yet. */
  refuses(caller: Caller, count = 1): Problem | undefined {
    const refused = this.closed() ?? this.withdrawn(caller);
    if (refused !== undefined) return refused;
    const rules = this.#rulesOf(caller);
    if (rules === undefined) return undefined;
    const { concurrency, ratePerMinute } = rules;
    const name = JSON.stringify(rules.name);
    if (concurrency !== undefined && this.#underWay(rules.name) >= concurrency) {
      return limited(`the key ${name} has ${concurrency} executions under way, which is its limit`);
    }
    if (ratePerMinute === undefined || this.#refilled(rules.name, ratePerMinute).tokens >= count) return undefined;
    const asked = count === 1 ? '' : `; this needs ${count} of them at once`;
    return limited(`the key ${name} has used up its ${ratePerMinute} executions per minute${asked}`);
  }

  /**
   * Counts executions of a caller, or says why they may not start now. The record of one that starts is opened in the same
   * turn: until then nobody else sees that it is under way.
   */
  charge(caller: Caller, count = 1): Problem | undefined {
    const refused = this.refuses(caller, count);
    if (refused !== undefined) return refused;
    const rules = this.#rulesOf(caller);
    if (rules?.ratePerMinute !== undefined) this.#refilled(rules.name, rules.ratePerMinute).tokens -= count;
    return undefined;
  }

  /**
   * Keeps places for a caller that will run many executions, some of them at once: as many as its key has left, at most those
   * that are asked for. They are kept between two executions as well, until the returned function is called.
   */
  hold(caller: Caller, wanted: number): { readonly places: number; readonly release: () => void } {
    const rules = this.#rulesOf(caller);
    if (rules?.concurrency === undefined) return { places: wanted, release: () => {} };
    const places = Math.max(1, Math.min(wanted, rules.concurrency - this.#underWay(rules.name)));
    const held = { caller, name: rules.name, places };
    this.#held.add(held);
    return { places, release: () => this.#held.delete(held) };
  }

  /** Executions of a key that run, and places that are kept for others of it. */
  #underWay(name: string): number {
    let count = this.#trail.activeOf(name);
    for (const held of this.#held) {
      if (held.name === name) count += Math.max(0, held.places - this.#trail.activeFor(held.caller));
    }
    return count;
  }

  /** What holds for a caller's key now. */
  #rulesOf({ key }: Caller): Key | undefined {
    return key === undefined ? undefined : this.#keys.current(key);
  }

  /** The bucket of a key, with what has flowed into it since. */
  #refilled(name: string, perMinute: number): Bucket {
    const now = this.#now();
    const bucket = this.#buckets.get(name) ?? { tokens: perMinute, at: now };
    const refilled = bucket.tokens + ((now - bucket.at) * perMinute) / MINUTE_MS;
    bucket.tokens = Math.min(perMinute, refilled);
    bucket.at = now;
    this.#buckets.set(name, bucket);
    return bucket;
  }
}

function limited(message: string): Problem {
  return { status: 429, code: 'RATE_LIMITED', message, details: { retryAfterSeconds: RETRY_AFTER_SECONDS } };
}

import { failure, ToolFailureError } from '../failure.js';
import { exactVersion, versionKind } from '../package-names.js';
import type { ToolPolicy } from '../policy.js';
import { failureOfJob } from './failure-of-job.js';
import type { Installer } from './installer.js';
import type { ResolvedPackage } from './jobs.js';
import { isDenied } from './package-list.js';

/** How old an answer of the registry may be. */
export type Freshness =
  | { readonly kind: 'default' }
  | { readonly kind: 'no-cache' }
  | { readonly kind: 'max-age'; readonly ms: number }
  | { readonly kind: 'only-if-cached' };

export interface ResolverOptions {
  readonly installer: Installer;
  readonly policy: ToolPolicy;
  readonly tagTtlMs: number;
  readonly notFoundTtlMs: number;
}

const MAX_REMEMBERED = 10_000;

/** Finds out which version a request means, and remembers it for a while. */
export class Resolver {
  readonly #options: ResolverOptions;
  readonly #known = new Map<string, { readonly value: ResolvedPackage; readonly at: number }>();
  readonly #missing = new Map<string, { readonly error: ToolFailureError; readonly at: number }>();
  readonly #asking = new Map<string, Promise<ResolvedPackage>>();

  constructor(options: ResolverOptions) {
    this.#options = options;
  }

  /** Resolves a version. Rejects with PACKAGE_NOT_FOUND, or NOT_CACHED when it may not ask. */
  async resolve(name: string, version: string, freshness: Freshness): Promise<ResolvedPackage> {
    this.#checkDenied(name, version);
    const key = `${name}@${version}`;
    const known = this.#known.get(key);
    const age = known === undefined ? Number.POSITIVE_INFINITY : performance.now() - known.at;
    if (known !== undefined && age <= this.#allowedAge(version, freshness)) return known.value;
    if (freshness.kind === 'only-if-cached') {
      throw failure('NOT_CACHED', `${key} is not known here, and the request says only-if-cached`, {
        phase: 'resolve',
      });
    }
    const missing = this.#missing.get(key);
    if (missing !== undefined && freshness.kind !== 'no-cache') {
      if (performance.now() - missing.at <= this.#options.notFoundTtlMs) throw missing.error;
      this.#missing.delete(key);
    }
    try {
      return await this.#ask(key, name, version, freshness);
    } catch (error) {
      // A registry that cannot be reached does not make a known answer wrong.
      if (known !== undefined && freshness.kind === 'default' && isRetryable(error)) return known.value;
      throw error;
    }
  }

  #allowedAge(version: string, freshness: Freshness): number {
    switch (freshness.kind) {
      case 'no-cache':
        return -1;
      case 'max-age':
        return freshness.ms;
      case 'only-if-cached':
        return Number.POSITIVE_INFINITY;
      case 'default':
        // What an exact version stands for never changes.
        return versionKind(version) === 'exact' ? Number.POSITIVE_INFINITY : this.#options.tagTtlMs;
    }
  }

  #checkDenied(name: string, version: string): void {
    const { deny } = this.#options.policy;
    if (!deny.includes(name) && !(versionKind(version) === 'exact' && isDenied(deny, name, exactVersion(version))))
      return;
    throw failure('PACKAGE_NOT_FOUND', `${name} is on the deny-list of this executor`, {
      phase: 'resolve',
      reason: 'denied',
    });
  }

  #ask(key: string, name: string, version: string, freshness: Freshness): Promise<ResolvedPackage> {
    const fresh = freshness.kind === 'no-cache' || freshness.kind === 'max-age' ? 'fresh' : 'cached';
    const flight = `${fresh}:${key}`;
    let asking = this.#asking.get(flight);
    if (asking === undefined) {
      asking = this.#fetch(key, name, version, fresh).finally(() => this.#asking.delete(flight));
      asking.catch(() => {});
      this.#asking.set(flight, asking);
    }
    return asking;
  }

  async #fetch(key: string, name: string, version: string, freshness: 'fresh' | 'cached'): Promise<ResolvedPackage> {
    const { installer, policy } = this.#options;
    const before = policy.minReleaseAgeMs > 0 ? new Date(Date.now() - policy.minReleaseAgeMs).toISOString() : undefined;
    try {
      const value = await installer.resolve({ name, version, before, freshness, detail: 'short' });
      if (isDenied(policy.deny, value.name, value.version)) {
        throw failure('PACKAGE_NOT_FOUND', `${value.name}@${value.version} is on the deny-list of this executor`, {
          phase: 'resolve',
          reason: 'denied',
        });
      }
      this.#known.delete(key);
      this.#known.set(key, { value, at: performance.now() });
      this.#missing.delete(key);
      trim(this.#known);
      return value;
    } catch (error) {
      const failed = failureOfJob(error, key, 'resolve');
      if (failed.failure.details?.['reason'] === 'not-found') {
        this.#missing.set(key, { error: failed, at: performance.now() });
        trim(this.#missing);
      }
      throw failed;
    }
  }
}

function trim(map: Map<string, unknown>): void {
  const oldest = map.size > MAX_REMEMBERED ? map.keys().next().value : undefined;
  if (oldest !== undefined) map.delete(oldest);
}

const isRetryable = (error: unknown): boolean => error instanceof ToolFailureError && error.failure.retryable === true;

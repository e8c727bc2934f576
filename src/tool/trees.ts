import { failure } from './failure.js';
import { FairQueue } from './fair-queue.js';
import type { ResolvedPackage } from './install/jobs.js';
import type { Freshness, Resolver } from './install/resolver.js';
import type { TreeCache, TreeLease } from './install/tree-cache.js';
import { checkIntegrity } from './integrity.js';
import type { ToolLimits } from './limits.js';
import { exactVersion, versionKind } from './package-names.js';
import { untilAborted, within } from './wait.js';

export interface TreeRequest {
  readonly packageName: string;
  readonly version: string;
  readonly integrity?: string | undefined;
}

export interface TreeWatcher {
  readonly signal: AbortSignal;
  /** Whose turn it counts as. */
  readonly lane: string;
  readonly freshness: Freshness;
  readonly onPhase: (name: 'resolve' | 'install', cache: 'hit' | 'miss', ms: number) => void;
  readonly onProgress: (phase: 'resolve' | 'install', packages?: number) => void;
}

export interface Acquired {
  readonly lease: TreeLease;
  readonly cache: 'hit' | 'miss';
  readonly resolveMs: number;
  readonly installMs: number;
}

/** Gets packages: finds the version, finds or makes the tree. */
export class Trees {
  readonly #resolver: Resolver;
  readonly #cache: TreeCache;
  readonly #limits: ToolLimits;
  readonly #slots: FairQueue;

  constructor(resolver: Resolver, cache: TreeCache, limits: ToolLimits) {
    this.#resolver = resolver;
    this.#cache = cache;
    this.#limits = limits;
    this.#slots = new FairQueue({
      places: limits.maxInstalls,
      maxWaiting: limits.maxQueued,
      retryAfterSeconds: limits.retryAfterSeconds,
    });
  }

  get installing(): number {
    return this.#slots.taken;
  }

  get waiting(): number {
    return this.#slots.waiting;
  }

  /** Holds the tree that a request needs. Rejects with a failure of the protocol. */
  async acquire(request: TreeRequest, watcher: TreeWatcher): Promise<Acquired> {
    const { packageName, version, integrity } = request;
    const { signal, lane, freshness, onPhase, onProgress } = watcher;
    const started = performance.now();
    const held = await this.#cached(packageName, version, freshness);
    if (held !== undefined) {
      this.#check(held, integrity);
      const ms = performance.now() - started;
      onPhase('resolve', 'hit', ms);
      return { lease: held, cache: 'hit', resolveMs: ms, installMs: 0 };
    }
    onProgress('resolve');
    const late = (phase: 'resolve' | 'install') => (): Error =>
      failure(
        'EXECUTION_TIMEOUT',
        `${packageName}@${version} was not installed within ${this.#limits.installTimeoutMs} ms; it goes on in the background, try again`,
        { phase: 'install', step: phase, timeoutMs: this.#limits.installTimeoutMs, timedOut: true },
        { retryable: true },
      );
    const asked = this.#resolver.resolve(packageName, version, freshness);
    const waited = within(untilAborted(asked, signal), this.#limits.installTimeoutMs, late('resolve'));
    const resolved = await waited.catch((error: unknown) => {
      if (freshness.kind !== 'only-if-cached') void this.#carryOn(asked, integrity, lane);
      throw error;
    });
    const resolvedAt = performance.now();
    const resolveMs = resolvedAt - started;
    onPhase('resolve', 'miss', resolveMs);
    checkIntegrity(integrity, resolved.integrity, `${resolved.name}@${resolved.version}`);
    const present = await this.#cache.lease(resolved.name, resolved.version);
    if (present !== undefined) return { lease: present, cache: 'hit', resolveMs, installMs: 0 };
    if (freshness.kind === 'only-if-cached') {
      throw failure(
        'NOT_CACHED',
        `${resolved.name}@${resolved.version} is not installed here, and the request says only-if-cached`,
        { phase: 'install' },
      );
    }
    onProgress('install');
    const installing = this.#cache.install(resolved, {
      onProgress: (packages) => onProgress('install', packages),
      slot: () => this.#slots.acquire(lane),
    });
    const left = Math.max(0, this.#limits.installTimeoutMs - resolveMs);
    const lease = await within(untilAborted(installing, signal), left, late('install')).catch((error: unknown) => {
      // Nobody is there any more to give the tree back that arrives later.
      void installing.then((unused) => unused[Symbol.dispose]()).catch(() => {});
      throw error;
    });
    const installMs = performance.now() - resolvedAt;
    onPhase('install', 'miss', installMs);
    return { lease, cache: 'miss', resolveMs, installMs };
  }

  /** Installs what a caller asked for who left before the version was known, so that a retry finds it. */
  async #carryOn(asked: Promise<ResolvedPackage>, integrity: string | undefined, lane: string): Promise<void> {
    try {
      const resolved = await asked;
      checkIntegrity(integrity, resolved.integrity, `${resolved.name}@${resolved.version}`);
      using _lease = await this.#cache.install(resolved, {
        onProgress: () => {},
        slot: () => this.#slots.acquire(lane),
      });
    } catch {
      // The retry hears of it.
    }
  }

  async #cached(name: string, version: string, freshness: Freshness): Promise<TreeLease | undefined> {
    if (freshness.kind === 'no-cache' || versionKind(version) !== 'exact') return undefined;
    return await this.#cache.lease(name, exactVersion(version));
  }

  #check(lease: TreeLease, integrity: string | undefined): void {
    try {
      checkIntegrity(integrity, lease.tree.integrity, `${lease.tree.name}@${lease.tree.version}`);
    } catch (error) {
      lease[Symbol.dispose]();
      throw error;
    }
  }
}

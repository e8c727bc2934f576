import { mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { AsyncParts } from './async/async-executions.js';
import { AsyncStore } from './async/store.js';
import { StoreLock } from './async/store-lock.js';
import { Bundler } from './bundler.js';
import { Calls } from './calls.js';
import { type Confinement, confine } from './confinement.js';
import type { ToolExecutorOptions } from './executor-options.js';
import { FairQueue } from './fair-queue.js';
import { InstallerProcess } from './install/installer.js';
import { Resolver } from './install/resolver.js';
import { scriptRunner } from './install/run-scripts.js';
import { TreeCache } from './install/tree-cache.js';
import type { ToolLimits } from './limits.js';
import type { ToolPolicy } from './policy.js';
import { ChildPool } from './run/child-pool.js';
import { ToolRuns } from './tool-runs.js';
import { Trees } from './trees.js';
import { Validation } from './validation.js';
import { AddressPolicy } from './webhooks/address.js';
import { Deliveries } from './webhooks/deliveries.js';

/** What an executor is made of, below requests and executions. */
export interface ExecutorParts {
  /** Nothing where no async executions are taken. */
  readonly kept: Pick<AsyncParts, 'store' | 'lock' | 'addresses' | 'deliveries'> | undefined;
  readonly confinement: Confinement;
  readonly installer: InstallerProcess;
  readonly cache: TreeCache;
  readonly trees: Trees;
  readonly pool: ChildPool;
  readonly bundler: Bundler;
  readonly slots: FairQueue;
  readonly calls: Calls;
  readonly validation: Validation;
}

/** Makes the parts of an executor. What can fail comes before what would have to be given back. */
export function createParts(options: ToolExecutorOptions, limits: ToolLimits, policy: ToolPolicy): ExecutorParts {
  mkdirSync(options.cacheDir, { recursive: true });
  // Children are shown the folder under its real name.
  const cacheDir = realpathSync(resolve(options.cacheDir));
  const { registry } = options;
  const kept = options.asyncExecutions === 'none' ? undefined : keptParts(cacheDir, limits, policy);
  const confinement = confine(options, cacheDir);
  const installer = new InstallerProcess(
    { cacheDir, registry, registryTimeoutMs: limits.registryTimeoutMs },
    limits.installHardTimeoutMs,
  );
  const pool = new ChildPool({ ...confinement, warm: limits.warmChildren, heapMegabytes: limits.childHeapMegabytes });
  const runs = new ToolRuns(pool, limits);
  const { tagTtlMs, notFoundTtlMs, maxCacheBytes, maxTreePackages, maxTreeFiles, maxTreeBytes } = limits;
  const resolver = new Resolver({ installer, policy, tagTtlMs, notFoundTtlMs });
  const cache = new TreeCache({
    cacheDir,
    registry,
    installer,
    policy,
    maxCacheBytes,
    maxTreePackages,
    maxTreeFiles,
    maxTreeBytes,
    runScripts: scriptRunner(confinement),
    // A package on its own has next to nothing to gain from a bundle.
    onUndecided: (tree) => {
      if (policy.bundle === 'auto' && tree.packages > 1) bundler.add(tree);
    },
  });
  const bundler = new Bundler(installer, cache, runs);
  const trees = new Trees(resolver, cache, limits);
  const { maxExecutions: places, maxQueued: maxWaiting, retryAfterSeconds } = limits;
  const slots = new FairQueue({ places, maxWaiting, retryAfterSeconds });
  const shared = { trees, runs, bundler, slots, limits };
  const calls = new Calls(shared);
  const validation = new Validation({ ...shared, installer, resolver, policy });
  return { kept, confinement, installer, cache, trees, pool, bundler, slots, calls, validation };
}

function keptParts(cacheDir: string, limits: ToolLimits, policy: ToolPolicy): NonNullable<ExecutorParts['kept']> {
  const addresses = new AddressPolicy(policy.webhookAllow);
  const store = new AsyncStore(join(cacheDir, 'executions.db'));
  return {
    store,
    lock: new StoreLock(join(cacheDir, 'executions.lock')),
    addresses,
    deliveries: new Deliveries({
      store,
      addresses,
      retryMs: limits.webhookRetryMs,
      timeoutMs: limits.webhookTimeoutMs,
    }),
  };
}

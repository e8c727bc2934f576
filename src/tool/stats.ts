import type { ExecutorParts } from './executor-parts.js';

/** Figures of a running executor. */
export interface ToolStats {
  readonly executions: { readonly running: number; readonly waiting: number; readonly total: number };
  readonly installs: { readonly running: number; readonly waiting: number; readonly total: number };
  readonly cache: {
    readonly trees: number;
    readonly bytes: number;
    readonly evictions: number;
    readonly bundles: number;
  };
  readonly children: { readonly idle: number; readonly started: number };
}

/** Takes the figures. `total` is how many requests there ever were. */
export function toolStats({ slots, trees, cache, bundler, pool }: ExecutorParts, total: number): ToolStats {
  return {
    executions: { running: slots.taken, waiting: slots.waiting, total },
    installs: { running: trees.installing, waiting: trees.waiting, total: cache.installs },
    cache: { trees: cache.size, bytes: cache.bytes, evictions: cache.evictions, bundles: bundler.made },
    children: { idle: pool.idle, started: pool.started },
  };
}

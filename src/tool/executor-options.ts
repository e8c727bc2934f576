import type { Spawner } from '../sandbox/index.js';
import type { Execution } from './execution.js';
import type { Freshness } from './install/resolver.js';
import type { ToolLimits } from './limits.js';
import type { ToolPolicy } from './policy.js';

export interface ToolExecutorOptions {
  /** Where trees, tarballs and async executions are kept. */
  readonly cacheDir: string;
  /** The registry to install from. The machine's npm configuration decides, unless told otherwise. */
  readonly registry?: string;
  readonly limits?: Partial<ToolLimits>;
  readonly policy?: Partial<ToolPolicy>;
  /** Who starts children. One of its own, unless told otherwise; for the level `container` make it with `toolRoomPolicy`. */
  readonly spawner?: Spawner;
  /** The isolation level of the spawner that tools run at. */
  readonly level?: string;
  /** Where children have their private folders, at levels without a room: the place of temporary files, unless told otherwise. */
  readonly scratchDir?: string;
  /**
   * Whether async executions are taken, and those taken up that the last server left: `kept`, unless told otherwise. They belong
   * to one executor at a time; `none` is for those that share the cache folder of a server.
   */
  readonly asyncExecutions?: 'kept' | 'none';
  /** Hears of every execution that was accepted, in the turn of the request that asked for it. */
  readonly onExecution?: (execution: Execution) => void;
}

/** How a caller wants one call to be treated. */
export interface RequestOptions {
  /** Whose turn it counts as in the queues. */
  readonly client?: string;
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** How old answers of the registry may be. */
  readonly freshness?: Freshness;
  /** The same key and body are the same execution. */
  readonly idempotencyKey?: string;
  /** Who asks, where callers are told apart: idempotency keys and executions are theirs. */
  readonly principal?: string;
  /** Who keeps a call going: whoever made it, until the signal fires; or whoever reads its events. */
  readonly keptBy?: 'caller' | 'readers';
}

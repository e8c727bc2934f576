import { SallyportError } from '../errors/index.js';
import { type ContainerLevel, type ContainerOptions, containerLevel } from './container/container-level.js';
import type { Enforcement } from './container/enforcement.js';
import type { IsolationLevel } from './level.js';
import { processLevel } from './process-level.js';

/** What is asked for: a level by name, or the best that there is. */
export type IsolationChoice = 'auto' | 'container' | 'process';

/** The level that was found for a choice, and what it means here. */
export interface ResolvedIsolation {
  readonly level: IsolationLevel;
  /** The name to give in a request. */
  readonly name: 'container' | 'process';
  /** What to hand to `createSpawner`. */
  readonly levels: ReadonlyMap<string, IsolationLevel>;
  /** Why this one: for `/info`, logs and people. */
  readonly reason: string;
  /** How the limits of the policy hold. Nothing at the level `process`, which has no policy. */
  readonly enforcement: Enforcement | undefined;
}

function resolved(level: ContainerLevel | typeof processLevel, reason: string): ResolvedIsolation {
  const container = 'enforcement' in level;
  return {
    level,
    name: container ? 'container' : 'process',
    levels: new Map([[level.name, level]]),
    reason,
    enforcement: container ? level.enforcement() : undefined,
  };
}

/**
 * Finds the level for a choice by trying it once. `container` where it cannot hold throws SPAWN_LEVEL_UNAVAILABLE; `auto`
 * takes `process` then, and says why.
 */
export async function resolveIsolation(choice: IsolationChoice, options: ContainerOptions): Promise<ResolvedIsolation> {
  if (choice === 'process') return resolved(processLevel, 'as asked for: no confinement beyond a process of its own');
  const level = containerLevel(options);
  const answer = await level.probe();
  if (answer.available) return resolved(level, 'namespaces, a system-call filter and limits, with bubblewrap');
  if (choice === 'auto') return resolved(processLevel, `the level container is not available: ${answer.reason}`);
  const message = `the isolation level "container" is not available: ${answer.reason}`;
  throw new SallyportError('SPAWN_LEVEL_UNAVAILABLE', message, { level: 'container' });
}

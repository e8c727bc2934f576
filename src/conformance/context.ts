import { rm } from 'node:fs/promises';
import { createSpawner, type Spawner, sharedGuardian } from '../sandbox/index.js';
import { Deadline } from './deadline.js';
import { CLEAN_UP_MS, REMOVE_PAUSE_MS, REMOVE_TRIES } from './limits.js';
import { Strays } from './strays.js';
import { isOnThisMachine, type Target } from './target/target.js';
import { Transcript } from './transcript.js';

/** What a check works with. Everything that it opens is ended with it. */
export interface CheckContext {
  readonly target: Target;
  /** The values of the suite's own options. */
  readonly settings: ReadonlyMap<string, string>;
  readonly transcript: Transcript;
  /** The time of the check; once that is over, the time in which it is cleaned up. */
  readonly deadline: Deadline;
  /** Starts processes that end with the check, and everything that they started with them. */
  readonly spawner: Spawner;
  /** Finds what its processes lose. */
  readonly strays: Strays;
  /** Registers what has to be done when the check is over, last first. */
  defer(cleanup: () => void | Promise<void>): void;
  /** Has a path of this machine be removed once nobody is left who could write to it. To be told before there is anything at it. */
  removes(path: string): void;
}

export interface OpenContext extends CheckContext, AsyncDisposable {}

export interface ContextOptions {
  readonly target: Target;
  readonly settings: ReadonlyMap<string, string>;
  readonly limitMs: number;
}

/** What all checks of a run have in common. */
export interface RunContext extends Omit<ContextOptions, 'limitMs'> {
  /** What each check may take; its own time unless given. */
  readonly limitMs?: number;
}

/**
 * Makes the context of one check. Disposing it ends every process and connection of the check and removes its files, in this
 * order: the target is asked, then its processes are ended, then those that it lost, and then nobody can write any more.
 */
export function openContext({ target, settings, limitMs }: ContextOptions): OpenContext {
  let deadline = new Deadline(limitMs);
  let over = false;
  const spawner = createSpawner();
  const strays = new Strays();
  const cleanups: (() => void | Promise<void>)[] = [];
  const paths = new Set<string>();
  return {
    target,
    settings,
    transcript: new Transcript(),
    get deadline() {
      return deadline;
    },
    spawner,
    strays,
    defer(cleanup) {
      // A check that was given up may open something yet.
      if (over) void attempt(cleanup);
      else cleanups.push(cleanup);
    },
    removes(path) {
      if (over) throw new Error(`the check is over: nothing is made at ${path} any more`);
      const guardian = sharedGuardian();
      guardian.ensure();
      guardian.removesFolder(path);
      paths.add(path);
    },
    async [Symbol.asyncDispose]() {
      deadline.expire();
      deadline = new Deadline(CLEAN_UP_MS);
      // A check's verdict does not depend on what follows. What cannot be done politely is done below.
      for (let cleanup = cleanups.pop(); cleanup !== undefined; cleanup = cleanups.pop()) {
        await deadline.wait(attempt(cleanup), () => new Error('late')).catch(() => {});
      }
      over = true;
      deadline.expire();
      await spawner.dispose();
      if (isOnThisMachine(target)) await strays.end();
      for (const path of paths) await remove(path);
    },
  };
}

async function attempt(cleanup: () => void | Promise<void>): Promise<void> {
  try {
    await cleanup();
  } catch {
    // What it was about may be gone already.
  }
}

/** A target at an address lives on, and may be about to write when it is not asked any more: hence more than one try. */
async function remove(path: string): Promise<void> {
  const options = { recursive: true, force: true, maxRetries: REMOVE_TRIES, retryDelay: REMOVE_PAUSE_MS };
  try {
    await rm(path, options);
    sharedGuardian().keepsFolder(path);
  } catch {
    // Somebody else's, or in use: the guardian tries once more when this process ends.
  }
}

import { createSpawner, type Spawner } from '../sandbox/index.js';
import { Deadline } from './deadline.js';
import { END_GRACE_MS } from './limits.js';
import type { Target } from './target/target.js';
import { Transcript } from './transcript.js';

/** What a check works with. Everything that it opens is ended with it. */
export interface CheckContext {
  readonly target: Target;
  /** The values of the suite's own options. */
  readonly settings: ReadonlyMap<string, string>;
  readonly transcript: Transcript;
  readonly deadline: Deadline;
  /** Starts processes that end with the check, and everything that they started with them. */
  readonly spawner: Spawner;
  /** Registers what has to be done when the check is over, last first. */
  defer(cleanup: () => void | Promise<void>): void;
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

/** Makes the context of one check. Disposing it ends every process and connection of the check. */
export function openContext({ target, settings, limitMs }: ContextOptions): OpenContext {
  const deadline = new Deadline(limitMs);
  const spawner = createSpawner();
  const cleanups: (() => void | Promise<void>)[] = [];
  return {
    target,
    settings,
    transcript: new Transcript(),
    deadline,
    spawner,
    defer: (cleanup) => void cleanups.push(cleanup),
    async [Symbol.asyncDispose]() {
      deadline.dispose();
      for (const cleanup of cleanups.reverse()) {
        // What cannot be cleaned up politely is ended by the spawner below; a check's verdict does not depend on it.
        await Promise.race([
          Promise.resolve()
            .then(cleanup)
            .catch(() => {}),
          pause(END_GRACE_MS),
        ]);
      }
      await spawner.dispose();
    },
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Key } from './keys.js';

/** Who asks. */
export interface Caller {
  /** Nothing where no key is needed. */
  readonly key: Key | undefined;
  /** Null where only the key is known any more. */
  readonly address: string | null;
}

/** Carries the caller to code that is not handed it: a tool execution learns from it who asked. */
export const callers = new AsyncLocalStorage<Caller>();

// What every target means by "wrong".
import { ERROR_REGISTRY, isSallyportError } from '../../dist/errors/index.js';

/** What is neither answered nor closed after this is a hang. The slowest honest answer takes a second, on cores that many share ten. */
export const HANG_MS = 60_000;
/** What a server may grow by over its whole run: twice what it takes under honest load, and far less than any hostile length. */
export const MAX_TARGET_GROWTH_MIB = 400;

/** Tells a registered error from one that nobody meant to throw. */
export const isRegistered = (error) => isSallyportError(error) && Object.hasOwn(ERROR_REGISTRY, error.code);

const MAX_MESSAGE_CHARS = 1_500;

/** A violated oracle. */
export class Finding extends Error {}

/** Fails the case unless it holds. */
export function hold(condition, message) {
  if (!condition) throw new Finding(message.slice(0, MAX_MESSAGE_CHARS));
}

/** Waits for something that must happen. */
export async function withinLimit(promise, what, ms = HANG_MS) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Finding(`hang: ${what} after ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

import { MAX_ERROR_MESSAGE_CHARS } from './limits.js';

/** Finds the words in anything thrown, whatever it is: `null`, a string, a proxy, an error whose getters throw. */
export function messageOfThrown(thrown: unknown, fallback: string): string {
  let message: unknown = thrown;
  try {
    if (typeof thrown === 'object' && thrown !== null) message = Reflect.get(thrown, 'message');
  } catch {
    message = undefined;
  }
  return clipMessage(typeof message === 'string' && message !== '' ? message : fallback);
}

/** Holds a message to its limit without splitting a surrogate pair. */
export function clipMessage(message: string): string {
  if (message.length <= MAX_ERROR_MESSAGE_CHARS) return message;
  return `${message.slice(0, MAX_ERROR_MESSAGE_CHARS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

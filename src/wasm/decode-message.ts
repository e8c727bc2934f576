import { type DecodeBudget, decodeFields, decodeMessagePack, type WireValue } from '../wire/index.js';
import { isMessage, type Message, readMessage } from './messages.js';

const FIELDS = ['id', 'type', 'result', 'chunk', 'error', 'functionName', 'params', 'expectsResponse'] as const;

/** Where the fields land. Decoding runs no code of anyone else, so one set serves all. */
const places: (WireValue | undefined)[] = FIELDS.map(() => undefined);

/**
 * Decodes one payload as a message, or throws with the reason why it is none. Every message gets the same shape, so that
 * what reads them is compiled once.
 */
export function decodeMessage(payload: Uint8Array, budget: DecodeBudget): Message {
  try {
    if (decodeFields(payload, FIELDS, places, budget)) {
      const [id, type, result, chunk, error, functionName, params, expectsResponse] = places;
      const fields = { id, type, result, chunk, error, functionName, params, expectsResponse };
      if (isMessage(fields)) return fields;
    }
  } finally {
    places.fill(undefined);
  }
  // Not worth a fast way: either a map with a long header, or about to be refused.
  return readMessage(decodeMessagePack(payload, budget));
}

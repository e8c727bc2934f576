import { createSink, type Sink } from '../../wasm/index.js';
import type { WireValue } from '../../wire/index.js';

/**
 * Parameters of a Wasm call as JSON. What JSON has no word for is written as an object with one key:
 *
 *     {"$bytes": "aGk="}        bytes, in base64
 *     {"$stream": [1, 2, 3]}    a stream of these chunks
 *     {"$sink": "name"}         a place to stream to; its chunks come back under this name
 */
export interface CallParams {
  readonly params: unknown;
  readonly sinks: ReadonlyMap<string, Sink>;
}

/** Reads parameters. Throws a TypeError that says what is wrong. */
export function readParams(value: unknown): CallParams {
  const sinks = new Map<string, Sink>();
  return { params: read(value, sinks), sinks };
}

function read(value: unknown, sinks: Map<string, Sink>): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => read(item, sinks));
  const entries = Object.entries(value);
  const [only] = entries;
  if (entries.length === 1 && only !== undefined) {
    const special = readSpecial(only[0], only[1], sinks);
    if (special !== undefined) return special;
  }
  return Object.fromEntries(entries.map(([name, item]) => [name, read(item, sinks)]));
}

function readSpecial(word: string, value: unknown, sinks: Map<string, Sink>): unknown {
  switch (word) {
    case '$bytes':
      if (typeof value !== 'string') throw new TypeError('$bytes must be a string of base64');
      return Uint8Array.from(Buffer.from(value, 'base64'));
    case '$stream': {
      if (!Array.isArray(value)) throw new TypeError('$stream must be an array of chunks');
      return chunksOf(value.map((chunk) => read(chunk, sinks)));
    }
    case '$sink': {
      if (typeof value !== 'string' || sinks.has(value)) throw new TypeError('$sink must be a name that is used once');
      const sink = createSink();
      sinks.set(value, sink);
      return sink;
    }
    default:
      return undefined;
  }
}

async function* chunksOf(chunks: readonly unknown[]): AsyncGenerator<unknown, void, undefined> {
  yield* chunks;
}

/** Writes a value of a guest as JSON understands it. */
export function toJson(value: WireValue | undefined): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value !== 'object') return value;
  if (value instanceof Uint8Array) return { $bytes: Buffer.from(value).toString('base64') };
  if (Array.isArray(value)) return value.map(toJson);
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, toJson(item)]));
}

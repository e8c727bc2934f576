import { SallyportError } from '../../errors/index.js';
import { DEPTH_CEILING, MAX_VALUES } from '../../wire/index.js';
import { queueForSink } from './sink.js';
import type { StreamQueue } from './stream-queue.js';

/** A function in `params` that the peer may call while the call runs. */
export type Callback = (params: unknown) => unknown;

/** Where the things that cannot be sent are registered; each method returns the id that takes their place. */
export interface Specials {
  callback(callback: Callback): string;
  receive(queue: StreamQueue): string;
  send(iterable: AsyncIterable<unknown>): string;
}

/** Tells at a glance that there is nothing to replace in a value: a scalar, or a list or plain map of scalars. */
export function isFlat(value: unknown): boolean {
  if (!isNested(value)) return true;
  if (typeof value !== 'object' || value === null) return false;
  if (Array.isArray(value)) return !value.some(isNested);
  if (Object.getPrototypeOf(value) !== Object.prototype || Symbol.asyncIterator in value || 'write' in value)
    return false;
  for (const key in value) if (isNested(Reflect.get(value, key))) return false;
  return true;
}

function isNested(value: unknown): boolean {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

/**
 * Replaces functions, async iterables and sinks anywhere in a value by ids. A value without any is returned as it is, and
 * what is neither those nor plain is left for the encoder to refuse.
 */
export function extractSpecials(value: unknown, specials: Specials): unknown {
  if (typeof value !== 'object' && typeof value !== 'function') return value;
  return new Walk(specials).visit(value, 0);
}

class Walk {
  readonly #specials: Specials;
  /** Shared parts would be walked again and again; what has more than this is not going to fit into a message anyway. */
  #left = 2 * MAX_VALUES;

  constructor(specials: Specials) {
    this.#specials = specials;
  }

  visit(value: unknown, depth: number): unknown {
    if (typeof value === 'function') {
      return this.#specials.callback((params) => Reflect.apply(value, undefined, [params]));
    }
    if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value;
    this.#left -= 1;
    if (depth > DEPTH_CEILING || this.#left < 0) return value;
    if (Array.isArray(value)) return this.#array(value, depth);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (prototype !== Object.prototype || Symbol.asyncIterator in value || 'write' in value) {
      const id = this.#special(value);
      if (id !== undefined) return id;
      if (prototype !== Object.prototype && prototype !== null) return value;
    }
    return this.#map(value, depth);
  }

  #special(value: object): string | undefined {
    if (isAsyncIterable(value) && 'write' in value) {
      const message =
        'a stream that is readable and writable at once could mean both: hand over the side that is meant';
      throw new SallyportError('WASM_PARAMS_INVALID', message);
    }
    const queue = queueForSink(value);
    if (queue === undefined) return isAsyncIterable(value) ? this.#specials.send(value) : undefined;
    if (queue.owner !== undefined)
      throw new SallyportError('WASM_PARAMS_INVALID', 'a sink can receive one stream only');
    return this.#specials.receive(queue);
  }

  #array(array: readonly unknown[], depth: number): readonly unknown[] {
    let copy: unknown[] | undefined;
    for (let index = 0; index < array.length; index += 1) {
      const item = array[index];
      if (typeof item !== 'object' && typeof item !== 'function') continue;
      const sent = this.visit(item, depth + 1);
      if (sent === item) continue;
      copy ??= [...array];
      copy[index] = sent;
    }
    return copy ?? array;
  }

  #map(map: object, depth: number): object {
    let copy: Map<string, unknown> | undefined;
    for (const key of Object.keys(map)) {
      const item: unknown = Reflect.get(map, key);
      if (typeof item !== 'object' && typeof item !== 'function') continue;
      const sent = this.visit(item, depth + 1);
      if (sent === item) continue;
      copy ??= new Map(Object.entries(map));
      copy.set(key, sent);
    }
    return copy === undefined ? map : Object.fromEntries(copy);
  }
}

/** Tells whether something can be iterated with `for await`. */
export function isAsyncIterable(value: object): value is AsyncIterable<unknown> {
  return Symbol.asyncIterator in value && typeof value[Symbol.asyncIterator] === 'function';
}

import { type OutputUnit, Validator } from '@cfworker/json-schema';
import { isNode } from './prepare-json-schema.js';
import type { JsonSchema } from './schema.js';

export interface MeteredOptions {
  readonly draft: '4' | '7' | '2020-12';
  /** Whether to stop at the first mistake of an object or list. */
  readonly report: 'first' | 'all';
  /** How many subschemas may be applied in one validation. */
  readonly maxSteps: number;
  /** How many parts of the value may be looked at in one validation. Not counted when absent. */
  readonly maxReads?: number | undefined;
}

export type MeteredResult =
  | { readonly kind: 'valid' }
  | { readonly kind: 'invalid'; readonly errors: readonly OutputUnit[] }
  | { readonly kind: 'exhausted' };

/** A keyword that the validator reads each time it applies a schema, and that a prepared schema never has. */
const METERED_KEYWORD = '$recursiveRef';

/**
 * Makes a validator that gives up after a number of steps. Alternatives inside a recursive schema multiply with every
 * level of the value, so a small hostile value could otherwise keep the host busy for ever.
 */
export function meteredValidator(schema: JsonSchema, options: MeteredOptions): (value: unknown) => MeteredResult {
  let steps = 0;
  let reads = 0;
  const exhausted = new Error('Too many steps.');
  const step = () => {
    steps += 1;
    if (steps > options.maxSteps) throw exhausted;
    return undefined;
  };
  const { maxReads } = options;
  const read = (parts: number) => {
    reads += parts;
    if (maxReads !== undefined && reads > maxReads) throw exhausted;
  };
  // The validator leaves marks on the schema it is given, and so does the meter: both get a copy of their own.
  const metered = structuredClone(schema);
  const validator = new Validator(metered, options.draft, options.report === 'first');
  installMeter(metered, step);
  return (value) => {
    steps = 0;
    reads = 0;
    try {
      const { valid, errors } = validator.validate(maxReads === undefined ? value : watched(value, read));
      return valid ? { kind: 'valid' } : { kind: 'invalid', errors };
    } catch (error) {
      // The validator gathers errors by spreading lists, which overflows the stack when there are very many.
      if (error === exhausted || error instanceof RangeError) return { kind: 'exhausted' };
      throw error;
    }
  };
}

function installMeter(node: unknown, step: () => undefined): void {
  if (isNode(node) && !Object.hasOwn(node, METERED_KEYWORD)) {
    Object.defineProperty(node, METERED_KEYWORD, { get: step, enumerable: false });
  }
  if (typeof node === 'object' && node !== null) for (const child of Object.values(node)) installMeter(child, step);
}

/**
 * Shows a value in which every look at a part is counted. The validator compares items pair by pair and part by part, which no step
 * counts; the proxies are the price of knowing how often, and only where a schema asks for such comparisons.
 */
function watched(root: unknown, read: (parts: number) => void): unknown {
  // The same object is the same proxy, so that the validator sees what is identical.
  const shown = new WeakMap<object, object>();
  const show = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value;
    const known = shown.get(value);
    if (known !== undefined) return known;
    const proxy = new Proxy(value, {
      get: (target, key) => {
        read(1);
        return show(Reflect.get(target, key));
      },
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target);
        read(keys.length);
        return keys;
      },
    });
    shown.set(value, proxy);
    return proxy;
  };
  return show(root);
}

import * as official from '@msgpack/msgpack';
import fc from 'fast-check';
import { Packr, Unpackr } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { isSallyportError } from '../../../src/errors/index.js';
import { decodeMessagePack } from '../../../src/wire/msgpack/decode.js';
import { encodeMessagePack } from '../../../src/wire/msgpack/encode.js';

/** What all three codecs agree on: JSON without -0, keys without `__proto__`, binary. */
const commonValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (Object.is(value, -0) ? 0 : value)),
    fc.string({ unit: 'grapheme', maxLength: 80 }),
    fc.uint8Array({ maxLength: 60 }),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(
      fc.string({ unit: 'grapheme' }).filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 20, noNullPrototype: true },
    ),
  ),
})).value;

const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true });
/** Binaries compare by content: one of the peers hands out `Buffer`. */
const plain = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return Uint8Array.from(value);
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, property]) => [key, plain(property)]));
  }
  return value;
};

describe('compared with @msgpack/msgpack', () => {
  it('writes the same bytes', () => {
    fc.assert(
      fc.property(commonValue, (value) => {
        expect(Buffer.from(encodeMessagePack(value)).equals(official.encode(value))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('reads what it writes, and the other way round', () => {
    fc.assert(
      fc.property(commonValue, (value) => {
        expect(plain(decodeMessagePack(official.encode(value)))).toEqual(value);
        expect(plain(official.decode(encodeMessagePack(value)))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it('agrees on random bytes, or refuses for a reason that is ours', () => {
    // The peer accepts extensions, NaN and infinities, duplicate and numeric keys and broken UTF-8, as a general codec
    // may; at this boundary each of them is a violation. Its other limits are those of the input, too. It refuses the
    // key `__proto__`, which here is an own property like any other.
    const ours = ['WIRE_EXTENSION', 'WIRE_NUMBER', 'WIRE_DUPLICATE_KEY', 'WIRE_KEY_TYPE', 'WIRE_UTF8'];
    let agreed = 0;
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 12 }), (input) => {
        const theirs = attempt(() => official.decode(input, { useBigInt64: true }));
        const mine = attempt(() => decodeMessagePack(input));
        if (mine.ok) {
          expect(theirs.ok).toBe(true);
          if (theirs.ok) expect(integers(mine.value)).toEqual(integers(theirs.value));
          agreed += 1;
        } else {
          const code = isSallyportError(mine.error) ? mine.error.code : 'not typed';
          if (theirs.ok) expect(ours).toContain(code);
        }
      }),
      { numRuns: 5_000 },
    );
    expect(agreed).toBeGreaterThan(100);
  });
});

describe('compared with msgpackr', () => {
  it('reads what it writes, and the other way round', () => {
    fc.assert(
      fc.property(commonValue, (value) => {
        expect(plain(decodeMessagePack(packr.pack(value)))).toEqual(value);
        expect(integers(unpackr.unpack(encodeMessagePack(value)))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });

  it('refuses its records and structured clones, which are extensions of its own', () => {
    const records = new Packr({ useRecords: true });
    const clones = new Packr({ structuredClone: true, useRecords: false });
    for (const packed of [records.pack({ a: 1 }), clones.pack(new Set([1])), clones.pack(new Error('x'))]) {
      expect(() => decodeMessagePack(packed)).toThrow(expect.objectContaining({ code: 'WIRE_EXTENSION' }));
    }
    expect(() => decodeMessagePack(packr.pack(new Date(0)))).toThrow(
      expect.objectContaining({ code: 'WIRE_EXTENSION' }),
    );
  });
});

type Attempt = { ok: true; value: unknown } | { ok: false; error: unknown };

function attempt(run: () => unknown): Attempt {
  try {
    return { ok: true, value: run() };
  } catch (error) {
    return { ok: false, error };
  }
}

/** The peers make a `bigint` of every integer that is 64 bits wide on the wire; here only those that need it are. */
function integers(value: unknown): unknown {
  if (typeof value === 'bigint') {
    return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  }
  if (Array.isArray(value)) return value.map(integers);
  if (typeof value === 'object' && value !== null && !(value instanceof Uint8Array)) {
    return Object.fromEntries(Object.entries(value).map(([key, property]) => [key, integers(property)]));
  }
  return plain(value);
}

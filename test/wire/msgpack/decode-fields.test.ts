import fc from 'fast-check';
import { expect, it } from 'vitest';
import { isSallyportError } from '../../../src/errors/index.js';
import { decodeFields, decodeMessagePack } from '../../../src/wire/msgpack/decode.js';
import { DEFAULT_BUDGET } from '../../../src/wire/msgpack/decode-budget.js';
import { encodeMessagePack } from '../../../src/wire/msgpack/encode.js';
import type { WireMap, WireValue } from '../../../src/wire/msgpack/wire-value.js';

const NAMES = ['id', 'type', 'result'];

/** What the places hold, or the code of the refusal. */
function fieldsOf(bytes: Uint8Array): { taken: boolean; places: (WireValue | undefined)[] } | string {
  const places: (WireValue | undefined)[] = NAMES.map(() => undefined);
  try {
    return { taken: decodeFields(bytes, NAMES, places, DEFAULT_BUDGET), places };
  } catch (error) {
    if (isSallyportError(error)) return error.code;
    throw error;
  }
}

it('puts each field into its place, whatever their order, and leaves absent ones alone', () => {
  expect(fieldsOf(encodeMessagePack({ type: 1, other: [true], id: 'a' }))).toEqual({
    taken: true,
    places: ['a', 1, undefined],
  });
});

it.each([
  ['a list', [1]],
  ['a number', 7],
  ['a map of 16 fields', Object.fromEntries(Array.from({ length: 16 }, (_, index) => [`k${index}`, index]))],
])('leaves %s to who reads all kinds of values', (_what, value) => {
  expect(fieldsOf(encodeMessagePack(value))).toMatchObject({ taken: false });
});

it.each([
  ['a field twice', '82a2696401a2696402'],
  ['another name twice', '82a17801a17802'],
  ['bytes behind the map', '81a2696401c0'],
  ['an end in the middle', '82a2696401'],
  ['a key that is no text', '810102'],
  ['no bytes at all', ''],
])('refuses %s exactly as the whole decoder does', (_what, hex) => {
  const bytes = Uint8Array.from(Buffer.from(hex, 'hex'));
  const whole = (): string => {
    try {
      decodeMessagePack(bytes);
      return 'accepted';
    } catch (error) {
      return isSallyportError(error) ? error.code : 'crash';
    }
  };
  const found = fieldsOf(bytes);
  if (typeof found === 'string') expect(found).toBe(whole());
  else expect(found.taken).toBe(false);
  expect(whole()).not.toBe('accepted');
});

it('finds what the whole decoder finds, or refuses what it refuses', () => {
  const key = fc.constantFrom(...NAMES, 'x', 'y');
  fc.assert(
    fc.property(fc.dictionary(key, fc.jsonValue()), fc.array(fc.tuple(fc.nat(40), fc.nat(255))), (value, changes) => {
      const bytes = Uint8Array.from(encodeMessagePack(value));
      for (const [at, byte] of changes.slice(0, 2)) if (at < bytes.length) bytes[at] = byte;
      const found = fieldsOf(bytes);
      let whole: WireValue | string;
      try {
        whole = decodeMessagePack(bytes);
      } catch (error) {
        whole = isSallyportError(error) ? error.code : 'crash';
        if (typeof found === 'string') expect(found).toBe(whole);
        else expect(found.taken).toBe(false);
        return;
      }
      if (typeof found === 'string') throw new Error(`refused with ${found}`);
      if (found.taken) expect(found.places).toEqual(NAMES.map((name) => (whole as WireMap)[name]));
    }),
    { numRuns: 2_000 },
  );
});

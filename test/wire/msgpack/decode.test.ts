import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_REGISTRY, isSallyportError, type SallyportError } from '../../../src/errors/index.js';
import { DEPTH_CEILING } from '../../../src/wire/limits.js';
import { decodeMessagePack } from '../../../src/wire/msgpack/decode.js';
import type { DecodeBudget } from '../../../src/wire/msgpack/decode-budget.js';
import { encodeMessagePack } from '../../../src/wire/msgpack/encode.js';

const bytes = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

function refusal(input: Uint8Array, budget?: Partial<DecodeBudget>): SallyportError {
  try {
    decodeMessagePack(input, budget);
  } catch (error) {
    if (isSallyportError(error)) return error;
    throw error;
  }
  throw new Error('It was accepted');
}

describe('decodeMessagePack', () => {
  it.each<[string, unknown]>([
    ['c0', null],
    ['c2', false],
    ['c3', true],
    ['00', 0],
    ['7f', 127],
    ['ff', -1],
    ['e0', -32],
    ['cc 05', 5],
    ['cd 0005', 5],
    ['ce ffffffff', 4294967295],
    ['cf 0000000000000005', 5],
    ['cf 001fffffffffffff', Number.MAX_SAFE_INTEGER],
    ['cf 0020000000000000', 2n ** 53n],
    ['cf ffffffffffffffff', 2n ** 64n - 1n],
    ['d0 80', -128],
    ['d1 8000', -32768],
    ['d2 80000000', -2147483648],
    ['d3 ffffffffffffffff', -1],
    ['d3 0000000000000007', 7],
    ['d3 ffe0000000000001', Number.MIN_SAFE_INTEGER],
    ['d3 ffe0000000000000', -(2n ** 53n)],
    ['d3 8000000000000000', -(2n ** 63n)],
    ['ca 3fc00000', 1.5],
    ['ca 3dcccccd', Math.fround(0.1)],
    ['cb 3fb999999999999a', 0.1],
    ['cb 8000000000000000', -0],
    ['a0', ''],
    ['a2 c3a9', 'é'],
    ['a3 efbbbf', '\ufeff'],
    ['d9 01 61', 'a'],
    ['da 0001 61', 'a'],
    ['db 00000001 61', 'a'],
    ['c4 02 0102', Uint8Array.of(1, 2)],
    ['c5 0002 0102', Uint8Array.of(1, 2)],
    ['c6 00000002 0102', Uint8Array.of(1, 2)],
    ['90', []],
    ['dc 0001 c0', [null]],
    ['dd 00000001 c0', [null]],
    ['80', {}],
    ['81 a161 01', { a: 1 }],
    ['de 0001 a161 01', { a: 1 }],
    ['df 00000001 d90161 01', { a: 1 }],
  ])('reads %s', (hex, expected) => {
    expect(decodeMessagePack(bytes(hex))).toStrictEqual(expected);
  });

  it.each([
    ['WIRE_SYNTAX', 'c1', 'the byte that is never used'],
    ['WIRE_SYNTAX', '', 'nothing at all'],
    ['WIRE_SYNTAX', 'cd 00', 'a number that is cut off'],
    ['WIRE_SYNTAX', 'cf 00000000', 'a long number that is cut off'],
    ['WIRE_SYNTAX', 'cb 3f', 'a float that is cut off'],
    ['WIRE_SYNTAX', 'a5 6161', 'a text that is cut off'],
    ['WIRE_SYNTAX', 'c4 05 01', 'a binary that is cut off'],
    ['WIRE_SYNTAX', '92 01', 'an array that is cut off'],
    ['WIRE_SYNTAX', '81 a161', 'a map without its last value'],
    ['WIRE_SYNTAX', '81 a5', 'a key that is cut off'],
    ['WIRE_SYNTAX', '82 a161 9101', 'a map without its last key'],
    ['WIRE_SYNTAX', 'dd 01ffffff', 'an array header that asks for 269 MB'],
    ['WIRE_SYNTAX', 'df ffffffff', 'a map header that asks for everything'],
    ['WIRE_SYNTAX', 'db ffffffff', 'a text header that asks for 4 GiB'],
    ['WIRE_SYNTAX', 'c6 ffffffff', 'a binary header that asks for 4 GiB'],
    ['WIRE_EXTENSION', 'c9 ffffffff 01', 'an extension header that asks for 4 GiB'],
    ['WIRE_EXTENSION', 'd6 ff 00000000', 'a timestamp of 32 bits'],
    ['WIRE_EXTENSION', 'd7 ff 0000000000000000', 'a timestamp of 64 bits'],
    ['WIRE_EXTENSION', 'c7 0c ff 000000007fffffffffffffff', 'a timestamp of 96 bits'],
    ['WIRE_EXTENSION', 'd4 72 40', 'a record definition'],
    ['WIRE_EXTENSION', 'd6 69 00000001', 'a structured-clone reference'],
    ['WIRE_EXTENSION', 'd6 70 00000001', 'a structured-clone pointer'],
    ['WIRE_EXTENSION', 'd4 00 00', 'an extension of one byte'],
    ['WIRE_EXTENSION', 'd5 42 0000', 'an extension of two bytes'],
    ['WIRE_EXTENSION', 'd8 42 00000000000000000000000000000000', 'an extension of sixteen bytes'],
    ['WIRE_EXTENSION', 'c8 0001 42 00', 'an extension with a long header'],
    ['WIRE_EXTENSION', '91 c7 00 42', 'an extension inside an array'],
    ['WIRE_NUMBER', 'cb 7ff8000000000000', 'NaN'],
    ['WIRE_NUMBER', 'cb 7ff0000000000000', 'infinity'],
    ['WIRE_NUMBER', 'cb fff0000000000000', 'negative infinity'],
    ['WIRE_NUMBER', 'ca 7fc00000', 'NaN of 32 bits'],
    ['WIRE_NUMBER', 'ca ff800000', 'negative infinity of 32 bits'],
    ['WIRE_DUPLICATE_KEY', '82 a161 01 a161 02', 'the same key twice'],
    ['WIRE_DUPLICATE_KEY', '82 a161 01 d90161 02', 'the same key twice in two widths'],
    ['WIRE_DUPLICATE_KEY', '82 a161 c0 a161 c0', 'the same key twice with null'],
    ['WIRE_DUPLICATE_KEY', '82 a95f5f70726f746f5f5f 01 a95f5f70726f746f5f5f 02', '__proto__ twice'],
    ['WIRE_KEY_TYPE', '81 01 01', 'an integer as key'],
    ['WIRE_KEY_TYPE', '81 c0 01', 'null as key'],
    ['WIRE_KEY_TYPE', '81 c4 01 61 01', 'a binary as key'],
    ['WIRE_KEY_TYPE', '81 91 a161 01', 'an array as key'],
    ['WIRE_KEY_TYPE', '81 d4 00 00 01', 'an extension as key'],
    ['WIRE_UTF8', 'a1 ff', 'a byte that UTF-8 does not have'],
    ['WIRE_UTF8', 'a2 c080', 'an overlong zero'],
    ['WIRE_UTF8', 'a3 eda080', 'an encoded surrogate'],
    ['WIRE_UTF8', 'a4 f5808080', 'a code point beyond Unicode'],
    ['WIRE_UTF8', 'a1 c3', 'half a character'],
    ['WIRE_UTF8', '81 a1 ff 01', 'a key that is not UTF-8'],
    ['WIRE_TRAILING', '01 01', 'two values'],
    ['WIRE_TRAILING', '80 00', 'a byte behind a map'],
  ])('refuses with %s: %s, %s', (code, hex) => {
    const error = refusal(bytes(hex));
    expect(error.code).toBe(code);
    expect(error.facts['offset']).toBeTypeOf('number');
  });

  it('refuses invalid UTF-8 in texts of every length class', () => {
    for (const length of [1, 8, 16, 17, 31, 32, 64, 65, 200, 1000, 70_000]) {
      const encoded = encodeMessagePack('a'.repeat(length));
      for (const at of [0, length >> 1, length - 1]) {
        const broken = Uint8Array.from(encoded);
        broken[encoded.length - length + at] = 0xff;
        expect(refusal(broken).code).toBe('WIRE_UTF8');
      }
    }
  });

  it.each(['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty'])(
    'makes a key called %s an own property of an ordinary object',
    (key) => {
      const value = decodeMessagePack(encodeMessagePack({ [key]: { polluted: true } }));
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
      expect(Object.getOwnPropertyDescriptor(value, key)).toEqual({
        value: { polluted: true },
        writable: true,
        enumerable: true,
        configurable: true,
      });
      expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
    },
  );

  it('copies a binary, so that it outlives the buffer it was read from', () => {
    for (const size of [4, 4000]) {
      const input = Buffer.from(encodeMessagePack(new Uint8Array(size).fill(7)));
      const value = decodeMessagePack(input);
      input.fill(0);
      expect(value).toStrictEqual(new Uint8Array(size).fill(7));
    }
  });

  it('decodes a view in the middle of a larger buffer', () => {
    const text = 'x'.repeat(100);
    const whole = Buffer.concat([Buffer.from('junk'), encodeMessagePack([text, 'é', 1.5]), Buffer.from('junk')]);
    const view = new Uint8Array(whole.buffer, whole.byteOffset + 4, whole.length - 8);
    expect(decodeMessagePack(view)).toEqual([text, 'é', 1.5]);
  });

  describe('within a budget', () => {
    it('counts bytes before it looks at them', () => {
      const error = refusal(encodeMessagePack('abcdef'), { bytes: 6 });
      expect(error.code).toBe('WIRE_BUDGET_BYTES');
      expect(error.facts).toEqual({ size: 7, limit: 6 });
      expect(decodeMessagePack(encodeMessagePack('abcdef'), { bytes: 7 })).toBe('abcdef');
    });

    it('counts 64 levels by default', () => {
      const nested = (levels: number): Uint8Array => Uint8Array.from([...new Array(levels - 1).fill(0x91), 0x90]);
      expect(decodeMessagePack(nested(64))).toBeInstanceOf(Array);
      const error = refusal(nested(65));
      expect(error.code).toBe('WIRE_BUDGET_DEPTH');
      expect(error.facts['limit']).toBe(64);
    });

    it('counts maps as levels', () => {
      const nested = bytes(`${'81 a161'.repeat(3)} 80`);
      expect(refusal(nested, { depth: 3 }).code).toBe('WIRE_BUDGET_DEPTH');
      expect(decodeMessagePack(nested, { depth: 4 })).toEqual({ a: { a: { a: {} } } });
    });

    it('caps the depth that can be asked for, so that the stack never overflows', () => {
      const bomb = new Uint8Array(1_000_000).fill(0x91);
      expect(refusal(bomb).code).toBe('WIRE_BUDGET_DEPTH');
      const error = refusal(bomb, { depth: Number.POSITIVE_INFINITY });
      expect(error.code).toBe('WIRE_BUDGET_DEPTH');
      expect(error.facts['limit']).toBe(DEPTH_CEILING);
    });

    it('counts every value, containers included', () => {
      const value = encodeMessagePack([1, [2, 3], { a: 4 }]);
      expect(decodeMessagePack(value, { values: 7 })).toEqual([1, [2, 3], { a: 4 }]);
      const error = refusal(value, { values: 6 });
      expect(error.code).toBe('WIRE_BUDGET_VALUES');
      expect(error.facts['limit']).toBe(6);
      expect(refusal(bytes('c0'), { values: 0 }).code).toBe('WIRE_BUDGET_VALUES');
    });

    it('refuses a million keys', () => {
      const keys = Buffer.concat([
        bytes('df 000f4240'),
        ...Array.from({ length: 1_000_000 }, (_, index) => {
          const key = index.toString(36);
          return Buffer.from([0xa0 | key.length, ...Buffer.from(key), 0]);
        }),
      ]);
      expect(refusal(keys).code).toBe('WIRE_BUDGET_VALUES');
    });

    it.each([
      ['words', (index: number) => `k${index}`],
      ['consecutive integers', (index: number) => `${index}`],
      ['sparse integers', (index: number) => `${(index * 16_411) >>> 0}`],
      ['integers that share their low bits', (index: number) => `${index * 65_536}`],
      ['integers beyond 32 bits', (index: number) => `${2 ** 32 + index * 1024}`],
    ])('reads as many keys as the budget has, in time: %s', (_, keyOf) => {
      const count = 250_000;
      const parts: Uint8Array[] = [bytes(`df ${count.toString(16).padStart(8, '0')}`)];
      for (let index = 0; index < count; index += 1) {
        const key = keyOf(index);
        parts.push(Buffer.from(`${String.fromCharCode(0)}${key}${String.fromCharCode(0)}`));
        parts[index + 1]![0] = 0xa0 | key.length;
      }
      const started = process.cpuUsage();
      const value = decodeMessagePack(Buffer.concat(parts));
      expect(Object.keys(value ?? {})).toHaveLength(count);
      // Linear work takes a fraction of a second; hashing gone wrong takes minutes.
      expect(process.cpuUsage(started).user).toBeLessThan(8_000_000);
    });

    it('asks for no memory on the word of a header', () => {
      const headers = ['dd 01ffffff', 'df 01ffffff', 'db 0fffffff', 'c6 0fffffff', 'c9 0fffffff 00'].map(bytes);
      for (const header of headers) refusal(header);
      const before = process.memoryUsage();
      for (let round = 0; round < 200; round += 1) for (const header of headers) refusal(header);
      const after = process.memoryUsage();
      expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(16 * 1024 * 1024);
      expect(after.rss - before.rss).toBeLessThan(128 * 1024 * 1024);
    });

    it('charges nested headers that each claim all that is left', () => {
      const size = 200_000;
      const input = Buffer.alloc(size, 0xc0);
      for (let level = 0; level < 60; level += 1) {
        const at = level * 5;
        input[at] = 0xdd;
        input.writeUInt32BE(size - at - 5, at + 1);
      }
      expect(refusal(input).code).toBe('WIRE_BUDGET_VALUES');
    });
  });

  it('throws nothing but registered errors for random bytes, and works again afterwards', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
        try {
          decodeMessagePack(input, { values: 50, depth: 5 });
        } catch (error) {
          expect(isSallyportError(error) && error.code in ERROR_REGISTRY).toBe(true);
        }
        expect(decodeMessagePack(bytes('81 a161 01'))).toEqual({ a: 1 });
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps short keys apart that fall on the same place of its cache', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 })), (keys) => {
        const value = Object.fromEntries(keys.map((key, index) => [key, index]));
        expect(decodeMessagePack(encodeMessagePack(value))).toEqual(value);
      }),
      { numRuns: 500 },
    );
  });
});

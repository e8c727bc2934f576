import { deepStrictEqual } from 'node:assert';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSallyportError, type SallyportError } from '../../../src/errors/index.js';
import { decodeMessagePack } from '../../../src/wire/msgpack/decode.js';
import { type EncodeOptions, encodeFrame, encodeMessagePack } from '../../../src/wire/msgpack/encode.js';

const hex = (value: Uint8Array): string => Buffer.from(value).toString('hex');

function refusal(value: unknown, options?: EncodeOptions): SallyportError {
  try {
    encodeMessagePack(value, options);
  } catch (error) {
    if (isSallyportError(error)) return error;
    throw error;
  }
  throw new Error('It was accepted');
}

/** Everything that crosses the boundary unchanged. */
const wireValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 64n - 1n }),
    fc.bigInt({ min: -(2n ** 63n), max: -(2n ** 53n) }),
    fc.string({ unit: 'grapheme', maxLength: 100 }),
    fc.string({ unit: 'binary', maxLength: 20 }),
    fc.uint8Array({ maxLength: 100 }),
    fc.array(tie('value'), { maxLength: 20 }),
    fc.dictionary(
      fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString', '0', '17')),
      tie('value'),
      { maxKeys: 20, noNullPrototype: true },
    ),
  ),
})).value;

describe('encodeMessagePack', () => {
  it.each<[unknown, string]>([
    [null, 'c0'],
    [false, 'c2'],
    [true, 'c3'],
    [0, '00'],
    [127, '7f'],
    [128, 'cc80'],
    [255, 'ccff'],
    [256, 'cd0100'],
    [65535, 'cdffff'],
    [65536, 'ce00010000'],
    [4294967295, 'ceffffffff'],
    [4294967296, 'cf0000000100000000'],
    [Number.MAX_SAFE_INTEGER, 'cf001fffffffffffff'],
    [-1, 'ff'],
    [-32, 'e0'],
    [-33, 'd0df'],
    [-128, 'd080'],
    [-129, 'd1ff7f'],
    [-32768, 'd18000'],
    [-32769, 'd2ffff7fff'],
    [-2147483648, 'd280000000'],
    [-2147483649, 'd3ffffffff7fffffff'],
    [Number.MIN_SAFE_INTEGER, 'd3ffe0000000000001'],
    [0.5, 'cb3fe0000000000000'],
    [2 ** 53, 'cb4340000000000000'],
    [-0, 'cb8000000000000000'],
    [5n, '05'],
    [-5n, 'fb'],
    [2n ** 53n, 'cf0020000000000000'],
    [2n ** 64n - 1n, 'cfffffffffffffffff'],
    [-(2n ** 63n), 'd38000000000000000'],
    ['', 'a0'],
    ['é', 'a2c3a9'],
    ['a'.repeat(31), `bf${'61'.repeat(31)}`],
    ['a'.repeat(32), `d920${'61'.repeat(32)}`],
    ['a'.repeat(255), `d9ff${'61'.repeat(255)}`],
    ['a'.repeat(256), `da0100${'61'.repeat(256)}`],
    [Uint8Array.of(1, 2), 'c4020102'],
    [Buffer.of(1, 2), 'c4020102'],
    [[], '90'],
    [new Array(16).fill(1), `dc0010${'01'.repeat(16)}`],
    [{}, '80'],
    [{ b: 1, a: 2 }, '82a16201a16102'],
    [Object.assign(Object.create(null), { a: 1 }), '81a16101'],
    [runInNewContext('({ a: [1] })'), '81a1619101'],
  ])('writes %o', (value, expected) => {
    expect(hex(encodeMessagePack(value))).toBe(expected);
  });

  it.each<[unknown, string]>([
    [
      { functionName: 'add', id: '0', type: 0, params: [1, 2] },
      '010000002784ac66756e6374696f6e4e616d65a3616464a26964a130a47479706500a6706172616d73920102',
    ],
    [{ id: '0', type: 1, result: 3 }, '010000001483a26964a130a47479706501a6726573756c7403'],
    [{ id: '0', type: 1 }, '010000000c82a26964a130a47479706501'],
    [{ id: '0', type: 1, result: undefined }, '010000000c82a26964a130a47479706501'],
    [
      { error: 'Division by zero', id: '1', type: 2 },
      '010000002383a56572726f72b04469766973696f6e206279207a65726fa26964a131a47479706502',
    ],
  ])('writes the frame of %o byte for byte', (value, expected) => {
    expect(hex(encodeFrame(value))).toBe(expected);
  });

  it('gives back what it was given, after a round trip', () => {
    fc.assert(
      fc.property(wireValue, (value) => {
        // Not `toStrictEqual`, which takes a key called `constructor` for the class of the object.
        deepStrictEqual(decodeMessagePack(encodeMessagePack(value)), value);
      }),
      { numRuns: 1_000 },
    );
  });

  it('makes a frame of the same bytes behind a header', () => {
    fc.assert(
      fc.property(wireValue, (value) => {
        const payload = encodeMessagePack(value);
        const frame = Buffer.from(encodeFrame(value));
        expect(frame[0]).toBe(1);
        expect(frame.readUInt32BE(1)).toBe(payload.length);
        expect(hex(frame.subarray(5))).toBe(hex(payload));
      }),
      { numRuns: 300 },
    );
  });

  it('hands out memory of its own, which later messages leave alone', () => {
    const first = encodeMessagePack('first');
    const copy = hex(first);
    const frame = encodeFrame({ text: 'x'.repeat(100) });
    const frameCopy = hex(frame);
    for (let index = 0; index < 1_000; index += 1) {
      encodeMessagePack(`other ${index}`);
      encodeFrame({ text: 'y'.repeat(100) });
    }
    expect(hex(first)).toBe(copy);
    expect(hex(frame)).toBe(frameCopy);
    expect(first.buffer.byteLength).toBe(first.length);
  });

  it('drops undefined properties and turns undefined elements into null, as JSON does', () => {
    expect(decodeMessagePack(encodeMessagePack({ a: undefined, b: [undefined, 1], c: {} }))).toEqual({
      b: [null, 1],
      c: {},
    });
    for (const size of [15, 16, 17, 70_000]) {
      const value = Object.fromEntries(Array.from({ length: size }, (_, i) => [`k${i}`, i % 3 === 0 ? undefined : i]));
      const expected = JSON.parse(JSON.stringify(value));
      expect(decodeMessagePack(encodeMessagePack(value))).toEqual(expected);
    }
  });

  it('replaces a lone surrogate in a text and refuses it in a key, where it could make two keys one', () => {
    expect(decodeMessagePack(encodeMessagePack('a\ud800'))).toBe('a\ufffd');
    expect(decodeMessagePack(encodeMessagePack(`${'a'.repeat(100)}\ud800`))).toBe(`${'a'.repeat(100)}\ufffd`);
    const error = refusal({ '\ud800': 1 });
    expect(error.code).toBe('VALUE_NOT_SERIALIZABLE');
    expect(error.message).toContain('lone surrogate');
  });

  it.each<[string, unknown, string]>([
    ['$', undefined, 'undefined'],
    ['$', () => 1, 'function'],
    ['$.a', { a: Symbol('s') }, 'symbol'],
    ['$.a[1].b', { a: [1, { b: Number.NaN }] }, 'NaN'],
    ['$[0]', [Number.NEGATIVE_INFINITY], '-Infinity'],
    ['$["a b"]', { 'a b': 2n ** 64n }, '64 bits'],
    ['$.n', { n: -(2n ** 63n) - 1n }, '64 bits'],
    ['$.date', { ok: undefined, date: new Date(0) }, 'Date'],
    ['$.map', { map: new Map() }, 'Map'],
    ['$.words', { words: new Uint16Array(1) }, 'Uint16Array'],
    ['$.toJSON', { toJSON: () => 'trick' }, 'function'],
    ['$[0]', [new (class Point {})()], 'Point'],
    ['$[0]', [new (class extends Error {})()], 'instance'],
    ['$[0]', [Object('boxed')], 'String'],
    ['$[0]', [Promise.resolve()], 'Promise'],
  ])('names the path %s of what it cannot send', (path, value, problem) => {
    const error = refusal(value);
    expect(error.code).toBe('VALUE_NOT_SERIALIZABLE');
    expect(error.facts['path']).toBe(path);
    expect(error.message).toContain(problem);
  });

  it('refuses a value that contains itself', () => {
    const loop: Record<string, unknown> = { a: 1 };
    loop['self'] = [loop];
    const error = refusal(loop);
    expect(error.code).toBe('VALUE_NOT_SERIALIZABLE');
    expect(error.facts['path']).toBe('$.self[0]');
    expect(error.message).toContain('itself');
  });

  it('refuses what its own decoder would find too deep, whatever depth is asked for', () => {
    const nested = (levels: number): unknown => {
      let value: unknown = [];
      for (let level = 1; level < levels; level += 1) value = [value];
      return value;
    };
    expect(decodeMessagePack(encodeMessagePack(nested(64)))).toBeInstanceOf(Array);
    expect(refusal(nested(65)).message).toContain('deeper than 64');
    expect(refusal(nested(100_000), { depth: Number.POSITIVE_INFINITY }).message).toContain('deeper than 512');
  });

  it('refuses a value over the byte limit, also one that is small in memory and huge on the wire', () => {
    expect(encodeMessagePack('abc', { bytes: 4 })).toHaveLength(4);
    expect(refusal('abc', { bytes: 3 }).code).toBe('WIRE_BUDGET_BYTES');
    expect(refusal('x'.repeat(20 * 1024 * 1024)).code).toBe('WIRE_BUDGET_BYTES');
    expect(refusal(new Uint8Array(20 * 1024 * 1024)).facts).toEqual({ limit: 16 * 1024 * 1024 });
    let doubled: unknown = 'x';
    for (let level = 0; level < 60; level += 1) doubled = [doubled, doubled];
    expect(refusal(doubled).code).toBe('WIRE_BUDGET_BYTES');
  });

  it('encodes a large message after growing, and a small one after that', () => {
    const large = { text: 'é'.repeat(3_000_000), list: Array.from({ length: 50_000 }, (_, index) => index) };
    expect(decodeMessagePack(encodeMessagePack(large))).toEqual(large);
    expect(hex(encodeMessagePack({ a: 1 }))).toBe('81a16101');
  });

  it('survives a getter that encodes something itself', () => {
    const value = {
      before: 'x'.repeat(40),
      get inner() {
        return encodeMessagePack({ nested: 'y'.repeat(40) });
      },
      after: 1,
    };
    const decoded = decodeMessagePack(encodeMessagePack(value));
    expect(decoded).toEqual({ before: 'x'.repeat(40), inner: encodeMessagePack({ nested: 'y'.repeat(40) }), after: 1 });
  });

  it('passes on what a getter throws, and works again afterwards', () => {
    const value = {
      get broken(): never {
        throw new RangeError('mine');
      },
    };
    expect(() => encodeMessagePack(value)).toThrow(RangeError);
    expect(hex(encodeMessagePack(1))).toBe('01');
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ERROR_REGISTRY, isSallyportError } from '../../src/errors/index.js';
import { decodeJson, parseJson } from '../../src/wire/json.js';

function codeOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    if (isSallyportError(error)) return error.code;
    throw error;
  }
  return 'no error';
}

/** Counts values the slow and obvious way. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return 1 + Object.values(value).reduce((sum: number, child) => sum + countValues(child), 0);
}

describe('JSON with a budget', () => {
  it('agrees with JSON.parse on any document', () => {
    fc.assert(
      fc.property(fc.json({ depthSize: 'medium' }), (text) => {
        expect(parseJson(text)).toEqual(JSON.parse(text));
        expect(decodeJson(Buffer.from(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('throws nothing but a registered error for any bytes', () => {
    const nearlyJson = fc.stringMatching(/^[[\]{}:,"\\0-9a-eltrufns \n.+-]{0,60}$/).map((text) => Buffer.from(text));
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
      nearlyJson,
    );
    fc.assert(
      fc.property(bytes, (input) => {
        try {
          decodeJson(input);
        } catch (error) {
          expect(isSallyportError(error)).toBe(true);
          if (isSallyportError(error)) expect(ERROR_REGISTRY).toHaveProperty(error.code);
        }
      }),
      { numRuns: 3000 },
    );
  });

  it('counts values exactly, so that a document at the limit passes and one above it does not', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const values = countValues(JSON.parse(text));
        expect(codeOf(() => parseJson(text, { values }))).toBe('no error');
        expect(codeOf(() => parseJson(text, { values: values - 1 }))).toBe('WIRE_BUDGET_VALUES');
      }),
    );
  });

  it('refuses nesting beyond 64 levels', () => {
    expect(codeOf(() => parseJson('['.repeat(64) + ']'.repeat(64)))).toBe('no error');
    expect(codeOf(() => parseJson('['.repeat(65) + ']'.repeat(65)))).toBe('WIRE_BUDGET_DEPTH');
    expect(codeOf(() => parseJson('{"a":'.repeat(1_000_000)))).toBe('WIRE_BUDGET_DEPTH');
  });

  it('is not fooled by brackets, commas, colons and quotes inside strings', () => {
    const text = JSON.stringify({ 'a":[{,:': '\\"[[[[,,,,::::\\\\', b: ['"', '\\', '\\"'] });
    expect(parseJson(text, { depth: 2, values: 6 })).toEqual(JSON.parse(text));
  });

  it('keeps the depth within what its recursion can bear, whatever the budget says', () => {
    const nested = (levels: number): string => `${'{"a":'.repeat(levels)}0${'}'.repeat(levels)}`;
    expect(codeOf(() => parseJson(nested(512), { depth: 1_000_000 }))).toBe('no error');
    expect(codeOf(() => parseJson(nested(20_000), { depth: 1_000_000 }))).toBe('WIRE_BUDGET_DEPTH');
  });

  it.each(['{"a":1,"a":2}', '[{"x":{"k":1,"k":1}}]', '{"__proto__":1,"__proto__":2}', '{"a":1,"\\u0061":2}'])(
    'refuses the duplicate key in %s',
    (text) => {
      expect(codeOf(() => parseJson(text))).toBe('WIRE_DUPLICATE_KEY');
    },
  );

  it('makes __proto__ an own key that changes no prototype', () => {
    const value = parseJson('{"__proto__":{"polluted":true},"constructor":1}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(Object.keys(value as object)).toEqual(['__proto__', 'constructor']);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('refuses more bytes than the budget, in bytes and not in characters', () => {
    expect(codeOf(() => parseJson('"éé"', { bytes: 5 }))).toBe('WIRE_BUDGET_BYTES');
    expect(codeOf(() => parseJson('"éé"', { bytes: 6 }))).toBe('no error');
    expect(codeOf(() => decodeJson(Buffer.alloc(7, '1'), { bytes: 6 }))).toBe('WIRE_BUDGET_BYTES');
  });

  it('refuses invalid UTF-8 and a byte order mark', () => {
    expect(codeOf(() => decodeJson(Buffer.from([0x22, 0xc3, 0x22])))).toBe('WIRE_UTF8');
    expect(codeOf(() => decodeJson(Buffer.from('\ufeff{}')))).toBe('WIRE_SYNTAX');
  });

  it('keeps control characters of a hostile document out of its message', () => {
    try {
      parseJson('{"a": \u001b[31m}');
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message).not.toContain('\u001b');
    }
  });

  it('refuses 4 MB of zeros or empty objects without building them', () => {
    const before = process.memoryUsage().heapUsed;
    expect(codeOf(() => parseJson(`[${'0,'.repeat(2_100_000)}0]`))).toBe('WIRE_BUDGET_VALUES');
    expect(codeOf(() => parseJson(`[${'{},'.repeat(1_400_000)}{}]`))).toBe('WIRE_BUDGET_VALUES');
    // The texts themselves are some 8 MB; built, the second document alone would be 80 MB.
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(40e6);
  });
});

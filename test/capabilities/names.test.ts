import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  assertNamespace,
  assertProviders,
  defineTools,
  RESERVED_WORDS,
  sanitizeToolName,
  sanitizeToolNames,
} from '../../src/capabilities/index.js';

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

describe('tool names', () => {
  it.each([
    ['scrape-url', 'scrape_url'],
    ['a.b/c d', 'a_b_c_d'],
    ['2fa', '_2fa'],
    ['delete', 'delete_'],
    ['await', 'await_'],
    ['enum', 'enum_'],
    ['implements', 'implements_'],
    ['$ok_1', '$ok_1'],
    ['größe', 'gr__e'],
    ['🚀', '_'],
    ['\\u0061', '_u0061'],
    ['__proto__', '__proto__'],
    ['then', 'then'],
  ])('%s becomes %s', (name, safe) => {
    expect(sanitizeToolName(name)).toBe(safe);
  });

  it('numbers collisions in the order of definition', () => {
    expect([...sanitizeToolNames(['a-b', 'a_b', 'a b', 'a_b__2'])]).toEqual([
      ['a_b', 'a-b'],
      ['a_b__2', 'a_b'],
      ['a_b__3', 'a b'],
      ['a_b__2__2', 'a_b__2'],
    ]);
  });

  it('are identifiers, not reserved and unique, whatever they are made from', () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1 }),
      fc.constantFrom(...RESERVED_WORDS, 'delete_', 'a__2', 'a', 'a-', 'a_'),
      fc.string({ unit: fc.constantFrom('a', '-', '_', ' ', '2'), minLength: 1, maxLength: 4 }),
    );
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 30 }), (names) => {
        const safe = sanitizeToolNames(names);
        expect([...safe.values()]).toEqual(names);
        for (const one of safe.keys()) {
          expect(one).toMatch(IDENTIFIER);
          expect(RESERVED_WORDS.has(one)).toBe(false);
        }
      }),
    );
  });

  it('number a thousand collisions without a long search', () => {
    const names = Array.from({ length: 1_000 }, (_, index) => String.fromCodePoint(0x4e00 + index));
    expect(sanitizeToolNames(names).size).toBe(1_000);
  });

  it('that are empty or endless are refused', () => {
    const execute = () => 1;
    expect(() => defineTools('t', { '': execute })).toThrow(expect.objectContaining({ code: 'TOOLS_NAME' }));
    expect(() => defineTools('t', { ['x'.repeat(10_000)]: execute })).toThrow('more than 128 characters');
  });
});

describe('namespaces', () => {
  it.each(['tools', '$', '_x1', 'firecrawl'])('%s is fine', (name) => {
    expect(() => assertNamespace(name)).not.toThrow();
  });

  it.each([
    ['', 'not an identifier'],
    ['a-b', 'not an identifier'],
    ['1a', 'not an identifier'],
    ['größe', 'not an identifier'],
    ['\\u0061', 'not an identifier'],
    ['class', 'reserved'],
    ['await', 'reserved'],
    ['console', 'hide a global'],
    ['JSON', 'hide a global'],
    ['globalThis', 'hide a global'],
    ['Promise', 'hide a global'],
    ['undefined', 'hide a global'],
    ['setTimeout', 'hide a global'],
    ['__proto__', 'hide a global'],
    ['x'.repeat(10_000), 'more than 128'],
  ])('%s is refused', (name, why) => {
    expect(() => assertNamespace(name)).toThrow(why);
    expect(() => defineTools(name, {})).toThrow(expect.objectContaining({ code: 'TOOLS_NAME' }));
  });

  it('hold every global of ECMAScript back from a guest', () => {
    for (const name of Object.getOwnPropertyNames(globalThis)) {
      if (/^(?:[A-Z]|is|parse|encode|decode)/.test(name) && /Array|Error|Map|Set|JSON|Math|URI|parse/.test(name)) {
        if (name.startsWith('VITEST')) continue;
        expect(() => assertNamespace(name), name).toThrow();
      }
    }
  });

  it('are unique among providers', () => {
    const one = defineTools('one', {});
    expect(() => assertProviders([one, defineTools('two', {})])).not.toThrow();
    expect(() => assertProviders([one, defineTools('one', {})])).toThrow('Two providers have the namespace "one"');
  });
});

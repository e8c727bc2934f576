import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { printable } from '../../src/wire/printable.js';

describe('printable', () => {
  it('leaves no control character, direction mark or lone surrogate in any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const shown = printable(text);
        expect(shown).not.toMatch(
          /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]/,
        );
        expect(shown.isWellFormed()).toBe(true);
      }),
    );
  });

  it('shows ordinary text as it is, and cuts what is long', () => {
    expect(printable('héllo 🌍 "x"')).toBe('héllo 🌍 "x"');
    expect(printable('abcdef', 3)).toBe('abc…');
    expect(printable('\u001b[31mred')).toBe('\\u001b[31mred');
    expect(printable('\u200e\u200f\u061c')).toBe('\\u200e\\u200f\\u061c');
  });
});

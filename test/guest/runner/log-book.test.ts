import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LogBook } from '../../../src/guest/runner/log-book.js';

function keep(lines: readonly string[], maxLogLines: number, maxLogChars: number): string[] {
  const book = new LogBook({ maxLogLines, maxLogChars });
  for (const line of lines) book.add(line);
  return book.lines;
}

describe('a log book', () => {
  it('keeps the earliest lines', () => expect(keep(['a', 'b', 'c'], 2, 100)).toEqual(['a', 'b']));
  it('counts characters over all lines', () => expect(keep(['abc', 'def', 'ghi'], 10, 5)).toEqual(['abc', 'de']));
  it('limits lines first, then characters', () => expect(keep(['abc', 'def', 'ghi'], 2, 100)).toEqual(['abc', 'def']));
  it('keeps a line that fits exactly and nothing after it', () =>
    expect(keep(['abc', 'd', ''], 10, 3)).toEqual(['abc']));
  it('keeps nothing when it may keep nothing', () => {
    expect(keep(['a'], 0, 10)).toEqual([]);
    expect(keep(['a'], 10, 0)).toEqual([]);
  });
  it('keeps empty lines', () => expect(keep(['', '', 'a'], 10, 10)).toEqual(['', '', 'a']));
  it('does not split a surrogate pair', () => {
    expect(keep(['a😀b'], 10, 2)).toEqual(['a']);
    expect(keep(['a😀b'], 10, 3)).toEqual(['a😀']);
  });
  it('lets nothing in after a pair that did not fit', () => expect(keep(['a😀', 'b'], 10, 2)).toEqual(['a']));
  it('says what it kept, and when it is full', () => {
    const book = new LogBook({ maxLogLines: 3, maxLogChars: 4 });
    expect([book.add('abc'), book.add('def'), book.add('ghi')]).toEqual(['abc', 'd', undefined]);
    expect(book.room).toBe(0);
  });

  it('holds its limits for any lines, and what it keeps is the start of what came', () => {
    const lines = fc.array(fc.string({ unit: 'binary', maxLength: 20 }), { maxLength: 20 });
    fc.assert(
      fc.property(lines, fc.nat(12), fc.nat(60), (all, maxLines, maxChars) => {
        const kept = keep(all, maxLines, maxChars);
        const total = kept.join('').length;
        expect(kept.length).toBeLessThanOrEqual(maxLines);
        expect(total).toBeLessThanOrEqual(maxChars);
        for (const [index, line] of kept.entries()) {
          const whole = all[index] ?? '';
          expect(whole.startsWith(line)).toBe(true);
          if (index < kept.length - 1) expect(line).toBe(whole);
          if (whole.isWellFormed()) expect(line.isWellFormed()).toBe(true);
        }
        // Nothing is cut that would have fitted, but for one half of a pair.
        const wanted = all.slice(0, maxLines).join('').length;
        expect(total).toBeGreaterThanOrEqual(Math.min(wanted, maxChars) - 1);
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { sourceFrame } from '../../../src/guest/source/index.js';

describe('sourceFrame', () => {
  it('shows the line with a caret under the column', () => {
    expect(sourceFrame('let a = 1;\nlet b = ;', 2, 9)).toBe('2 | let b = ;\n            ^');
  });

  it('shows a place behind the end of the line, and a line that does not exist', () => {
    expect(sourceFrame('foo(', 1, 5)).toBe('1 | foo(\n        ^');
    expect(sourceFrame('a', 7, 3)).toBe('7 | \n    ^');
  });

  it('escapes what would repaint a terminal, and keeps the caret in place', () => {
    expect(sourceFrame('"\u001b[2J\u202e" x', 1, 9)).toBe(`1 | "\\u001b[2J\\u202e" x\n${' '.repeat(22)}^`);
  });

  it('shows a part of a long line', () => {
    const [text = '', caret = ''] = sourceFrame(`${'a'.repeat(5000)}!${'b'.repeat(5000)}`, 1, 5001).split('\n');
    expect(text.length).toBeLessThan(140);
    expect(text[caret.length - 1]).toBe('!');
  });

  it('puts the caret under the character at the column, in every line', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 300 }), fc.nat(300), (before, gap) => {
        const line = `${before.replace(/[\n\r\u2028\u2029]/g, '')}§${' '.repeat(gap)}`;
        const [text = '', caret = ''] = sourceFrame(line, 1, line.indexOf('§') + 1).split('\n');
        expect(text[caret.length - 1]).toBe('§');
      }),
    );
  });
});

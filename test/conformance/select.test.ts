import { describe, expect, it } from 'vitest';
import { selectChecks } from '../../src/conformance/select.js';

const CHECKS = ['a.b.c', 'a.b.d', 'a.bb.c', 'x.b.c'].map((id) => ({ id }));
const ids = (...only: string[]) => selectChecks(CHECKS, only).map(({ id }) => id);

describe('picking checks by id', () => {
  it.each([
    [['a.b.c'], ['a.b.c']],
    [['a.b'], ['a.b.c', 'a.b.d']],
    [['*.c'], ['a.b.c', 'a.bb.c', 'x.b.c']],
    [['a.b*'], ['a.b.c', 'a.b.d', 'a.bb.c']],
    [
      ['x', 'a.b.d'],
      ['a.b.d', 'x.b.c'],
    ],
    [[], ['a.b.c', 'a.b.d', 'a.bb.c', 'x.b.c']],
  ])('%s picks %s', (only, picked) => {
    expect(ids(...only)).toEqual(picked);
  });

  it.each(['a.c', 'b', 'a?b.c', '*z*'])('refuses %s, which picks none', (pattern) => {
    expect(() => ids(pattern)).toThrow('no check fits');
  });
});

import { describe, expect, it } from 'vitest';
import { callTimeLimit, collect, collectVariable, duration, timeLimit } from '../../src/cli/options.js';

describe('a time on the command line', () => {
  it('is in seconds unless it says otherwise', () => {
    expect(['30', '0', '500ms', '1.5s', '2m', '1h', '7d'].map(duration)).toEqual([
      30_000, 0, 500, 1_500, 120_000, 3_600_000, 604_800_000,
    ]);
  });

  it('is refused when it is none, or when it is a limit of no time at all', () => {
    for (const text of ['', 'soon', '-5', '5 s', '1e3', '5w', '9'.repeat(20)]) expect(() => duration(text)).toThrow();
    expect([timeLimit('1ms'), timeLimit('1'), callTimeLimit('300'), callTimeLimit('3s')]).toEqual([
      1, 1_000, 300, 3_000,
    ]);
    expect(() => timeLimit('0')).toThrow();
  });
});

it('an option that is given several times keeps all values', () => {
  expect(collect('b', collect('a'))).toEqual(['a', 'b']);
  expect(collectVariable('B=x=y', collectVariable('A=', {}))).toEqual({ A: '', B: 'x=y' });
  expect(() => collectVariable('=x', {})).toThrow();
});

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { closestName, editDistance } from '../../src/capabilities/index.js';

it.each([
  ['kitten', 'sitting', 3],
  ['form', 'from', 1],
  ['', 'abc', 3],
  ['same', 'same', 0],
])('the distance from %s to %s is %i', (a, b, distance) => {
  expect(editDistance(a, b)).toBe(distance);
});

it('measures the same both ways, and never more than the longer length', () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 12 }), fc.string({ maxLength: 12 }), (a, b) => {
      const distance = editDistance(a, b);
      expect(distance).toBe(editDistance(b, a));
      expect(distance).toBeLessThanOrEqual(Math.max(a.length, b.length));
      expect(distance === 0).toBe(a === b);
    }),
  );
});

it('suggests what was most likely meant, and nothing when nothing is near', () => {
  const known = ['get_weather', 'search', 'list_files'];
  expect(closestName('getWeather', known)).toBe('get_weather');
  expect(closestName('serach', known)).toBe('search');
  expect(closestName('listFiles', known)).toBe('list_files');
  expect(closestName('constructor', known)).toBeUndefined();
  expect(closestName('x'.repeat(100_000), known)).toBeUndefined();
});

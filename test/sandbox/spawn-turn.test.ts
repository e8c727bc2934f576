import { expect, test } from 'vitest';
import { spawnTurn } from '../../src/sandbox/spawn-turn.js';

test('lets one at a time go, in order, with a turn of the event loop in between', async () => {
  const turns: string[] = [];
  let watching = true;
  const watch = (): void => {
    turns.push('turn');
    if (watching) setImmediate(watch);
  };
  setImmediate(watch);
  const starts = ['a', 'b', 'c'].map((name) => spawnTurn().then(() => turns.push(name)));
  await Promise.all(starts);
  watching = false;
  expect(turns.filter((entry) => entry !== 'turn')).toEqual(['a', 'b', 'c']);
  for (const [one, other] of [
    ['a', 'b'],
    ['b', 'c'],
  ] as const) {
    expect(turns.slice(turns.indexOf(one), turns.indexOf(other))).toContain('turn');
  }
});

test('lets who comes alone go at once', async () => {
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  let immediate = false;
  setImmediate(() => {
    immediate = true;
  });
  await spawnTurn();
  expect(immediate).toBe(false);
});

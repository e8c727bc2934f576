import { describe, expect, it } from 'vitest';
import { Turns } from '../../src/process/turns.js';

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('Turns', () => {
  it('lets in as much as fits, and the rest in order', async () => {
    const turns = new Turns(10);
    const order: string[] = [];
    const take = async (name: string, cost: number) => {
      const turn = await turns.take(cost, undefined);
      order.push(name);
      return turn;
    };
    const [a, b, c, d] = [take('a', 6), take('b', 4), take('c', 20), take('d', 1)];
    await settled();
    expect(order).toEqual(['a', 'b']);
    (await a)[Symbol.dispose]();
    await settled();
    // What is larger than everything goes alone, and nothing overtakes it.
    expect(order).toEqual(['a', 'b']);
    (await b)[Symbol.dispose]();
    (await b)[Symbol.dispose]();
    await settled();
    expect(order).toEqual(['a', 'b', 'c']);
    (await c)[Symbol.dispose]();
    (await d)[Symbol.dispose]();
    expect(order).toEqual(['a', 'b', 'c', 'd']);
  });

  it('forgets who does not need it any more', async () => {
    const turns = new Turns(1);
    const first = await turns.take(1, undefined);
    const gone = new AbortController();
    const second = turns.take(1, gone.signal);
    const third = turns.take(1, undefined);
    gone.abort();
    await expect(second).rejects.toThrow();
    await expect(turns.take(1, gone.signal)).rejects.toThrow();
    first[Symbol.dispose]();
    (await third)[Symbol.dispose]();
  });
});

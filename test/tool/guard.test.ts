import { beforeEach, expect, it, vi } from 'vitest';

const compared: [number, number][] = [];
vi.mock('node:crypto', async (original) => {
  const crypto = await original<typeof import('node:crypto')>();
  return {
    ...crypto,
    timingSafeEqual: (one: Uint8Array, other: Uint8Array) => {
      compared.push([one.length, other.length]);
      return crypto.timingSafeEqual(one, other);
    },
  };
});

const { tokenCheck } = await import('../../src/tool/http/guard.js');
const KEY = 'the-key-of-the-house';

type Check = ReturnType<typeof tokenCheck>;
type Asked = Parameters<Check>[0];

/** A request of which the check sees nothing but its headers. */
function asking(authorization: string | undefined): Asked {
  const rawHeaders = authorization === undefined ? [] : ['Authorization', authorization];
  const headers = authorization === undefined ? {} : { authorization };
  const headersDistinct = authorization === undefined ? {} : { authorization: [authorization] };
  return { raw: { headers, rawHeaders, headersDistinct } } as unknown as Asked;
}

beforeEach(() => {
  compared.length = 0;
});

it('takes the same way for every key, near or far: one comparison of two digests in constant time', () => {
  const check = tokenCheck(KEY);
  const wrong = [undefined, 'Bearer ', 'Bearer x', `Bearer ${KEY.slice(0, -1)}x`, `Bearer ${KEY}${'x'.repeat(5_000)}`];
  for (const authorization of wrong) expect(() => check(asking(authorization))).toThrow('Invalid or missing API key');
  expect(() => check(asking(`Bearer ${KEY}`))).not.toThrow();
  expect(compared).toEqual(Array.from({ length: wrong.length + 1 }, () => [32, 32]));
});

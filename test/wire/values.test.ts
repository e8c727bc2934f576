import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTransportSafe, formatPath, MAX_DEPTH } from '../../src/wire/index.js';

const refusal = (value: unknown) => {
  const check = checkTransportSafe(value, { root: 'result' });
  return check.ok ? 'accepted' : `${check.path}: ${check.reason}`;
};
const copyOf = (value: unknown) => {
  const check = checkTransportSafe(value);
  if (!check.ok) throw new Error(check.message);
  return check.value;
};
/** A handler whose every trap records that it ran. */
function recorder(calls: string[]): ProxyHandler<object> {
  return new Proxy(
    {},
    {
      get: (_, trap) => {
        calls.push(String(trap));
        return undefined;
      },
    },
  );
}

describe('what is allowed', () => {
  it('copies whatever JSON can say', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const copy = copyOf(value);
        expect(copy).toEqual(JSON.parse(JSON.stringify(value)));
        if (typeof value === 'object' && value !== null) expect(copy).not.toBe(value);
      }),
    );
  });

  it('lets undefined through at the top, and drops it as a property', () => {
    expect(checkTransportSafe(undefined)).toEqual({ ok: true, value: undefined });
    const copy = copyOf({ a: undefined, b: 1 });
    expect(Object.keys(copy ?? {})).toEqual(['b']);
  });

  it('sends -0 as 0', () => {
    expect(Object.is(copyOf(-0), 0)).toBe(true);
    expect(Object.is((copyOf([-0]) as number[])[0], 0)).toBe(true);
  });

  it('takes null-prototype objects and those of other realms as plain', () => {
    expect(copyOf(Object.assign(Object.create(null), { a: 1 }))).toEqual({ a: 1 });
    expect(copyOf(runInNewContext('({ a: [1, { b: null }] })'))).toEqual({ a: [1, { b: null }] });
  });

  it('keeps __proto__ as an own property and leaves the prototype alone', () => {
    const copy = copyOf(JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1, "prototype": 2}'));
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(Object.keys(copy ?? {})).toEqual(['__proto__', 'constructor', 'prototype']);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('copies shared references, once for each place', () => {
    const shared = { n: 1 };
    const copy = copyOf({ a: shared, b: shared }) as { a: object; b: object };
    expect(copy).toEqual({ a: { n: 1 }, b: { n: 1 } });
    expect(copy.a).not.toBe(copy.b);
  });

  it('ignores what is not enumerable', () => {
    const value = Object.defineProperty({ a: 1 }, 'hidden', { get: () => 1 });
    expect(copyOf(Object.defineProperty(value, Symbol('tag'), { value: 1 }))).toEqual({ a: 1 });
  });

  it('keeps strings as they are, lone surrogates included', () => {
    expect(copyOf(['\uD800', '\u2028', ''])).toEqual(['\uD800', '\u2028', '']);
  });
});

describe('what is refused, with its path', () => {
  class Account {}
  const cycle: { self?: unknown } = {};
  cycle.self = { back: [cycle] };
  const sparse = [1, 2, 3];
  delete sparse[1];
  it.each([
    [{ items: [0, 1, 2, { when: new Date() }] }, 'result.items[3].when: Date'],
    [{ 'a b': 1n }, 'result["a b"]: bigint'],
    [{ f() {} }, 'result.f: function'],
    [[Symbol('s')], 'result[0]: symbol'],
    [{ n: Number.NaN }, 'result.n: NaN'],
    [Number.NEGATIVE_INFINITY, 'result: -Infinity'],
    [new Map(), 'result: Map'],
    [new Set(), 'result: Set'],
    [/x/, 'result: RegExp'],
    [Promise.resolve(), 'result: Promise'],
    [new TypeError('x'), 'result: TypeError'],
    [new Uint8Array(2), 'result: Uint8Array'],
    [Buffer.from('x'), 'result: Buffer'],
    [new ArrayBuffer(2), 'result: ArrayBuffer'],
    [Object(1), 'result: boxed primitive'],
    [new Account(), 'result: Account'],
    [new (class List extends Array {})(), 'result: List'],
    [Object.create({ inherited: 1 }), 'result: object with a prototype of its own'],
    [Object.create(new Proxy({}, {})), 'result: object with a prototype of its own'],
    [cycle, 'result.self.back[0]: cycle'],
    [sparse, 'result[1]: hole in a sparse array'],
    [new Array(1e9), 'result[0]: hole in a sparse array'],
    [[undefined], 'result[0]: undefined array element'],
    [{ [Symbol.iterator]: 1 }, 'result: symbol key'],
    [Object.defineProperty([1], 0, { get: () => 1 }), 'result[0]: accessor property'],
    [() => {}, 'result: function'],
  ])('case %#', (value, expected) => {
    expect(refusal(value)).toBe(expected);
  });

  it('says in its message what may be sent instead', () => {
    const check = checkTransportSafe({ when: new Date() }, { root: 'input' });
    expect(check).toMatchObject({ ok: false, message: expect.stringMatching(/^input\.when: Date \(send null,/) });
  });
});

describe('hostile values', () => {
  it('runs no trap of a proxy, wherever it sits', () => {
    const calls: string[] = [];
    const proxy = new Proxy({}, recorder(calls));
    const callable = new Proxy(() => {}, recorder(calls));
    const array = new Proxy([], recorder(calls));
    for (const hostile of [proxy, callable, array]) {
      expect(refusal(hostile)).toBe('result: Proxy');
      expect(refusal({ a: [hostile] })).toBe('result.a[0]: Proxy');
    }
    expect(refusal(Object.create(proxy))).not.toBe('accepted');
    expect(refusal(Object.setPrototypeOf([], array))).not.toBe('accepted');
    expect(refusal(Object.create({ constructor: callable }))).not.toBe('accepted');
    expect(calls).toEqual([]);
  });

  it('refuses a revoked proxy', () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refusal([proxy])).toBe('result[0]: Proxy');
  });

  it('runs no getter and no toJSON', () => {
    let ran = 0;
    const getter = {
      get a() {
        ran += 1;
        return 1;
      },
    };
    const tagged = Object.create(Object.prototype, {
      [Symbol.toStringTag]: {
        get() {
          ran += 1;
          return 'x';
        },
      },
    });
    expect(refusal(getter)).toBe('result.a: accessor property');
    expect(refusal({ toJSON: () => (ran += 1) })).toBe('result.toJSON: function');
    expect(refusal(tagged)).toBe('accepted');
    expect(ran).toBe(0);
  });
});

describe('limits', () => {
  const nest = (levels: number) => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };

  it('holds the depth, by default and as configured', () => {
    expect(checkTransportSafe(nest(MAX_DEPTH)).ok).toBe(true);
    expect(checkTransportSafe(nest(MAX_DEPTH + 1))).toMatchObject({ ok: false, reason: 'more than 64 levels' });
    expect(checkTransportSafe(nest(3), { limits: { depth: 2 } }).ok).toBe(false);
    expect(checkTransportSafe(nest(100_000), { limits: { depth: 1e9 } }).ok).toBe(false);
  });

  it('charges a shared reference for each copy', () => {
    let value: unknown[] = ['x'];
    for (let level = 0; level < 40; level += 1) value = [value, value];
    expect(checkTransportSafe(value)).toMatchObject({ ok: false, reason: 'more than 262144 values' });
  });

  it('counts bytes of strings and of keys', () => {
    expect(checkTransportSafe('é'.repeat(60), { limits: { bytes: 100 } })).toMatchObject({ ok: false });
    expect(checkTransportSafe({ ['k'.repeat(100)]: 1 }, { limits: { bytes: 100 } })).toMatchObject({ ok: false });
    expect(checkTransportSafe('e'.repeat(60), { limits: { bytes: 100 } }).ok).toBe(true);
  });

  it('keeps paths short, however long the keys', () => {
    const path = formatPath('input', ['x'.repeat(10_000), ...Array.from({ length: 500 }, () => 'key')]);
    expect(path.length).toBeLessThan(300);
  });
});

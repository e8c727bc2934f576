import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import type { GuestVm } from '../../../src/guest/engine/guest-vm.js';
import { type ReadBudget, readValue } from '../../../src/guest/engine/read-value.js';
import { createVm, heapBytes, hooks, MEMORY, withValue } from './vm.js';

let vm: GuestVm;
beforeAll(async () => {
  vm = await createVm();
});

const read = (source: string, budget?: ReadBudget) =>
  withValue(vm, source, (ptr) => readValue(vm, ptr, 'result', budget));

describe('a transport-safe value', () => {
  const SAFE: readonly [string, unknown][] = [
    ['null', null],
    ['undefined', undefined],
    ['true', true],
    ['"text"', 'text'],
    ['-1.5e300', -1.5e300],
    ['[]', []],
    ['({})', {}],
    ['[1, [2, { a: [null] }]]', [1, [2, { a: [null] }]]],
    ['({ a: undefined, b: 1 })', { b: 1 }],
    ['Object.assign(Object.create(null), { a: 1 })', { a: 1 }],
    ['"\\ud83d\\ude00"', '😀'],
    ['"\\ud800x"', '\ud800x'],
    ['"a\\0b"', 'a\0b'],
    ['2 ** 53', 2 ** 53],
    ['(() => { const s = { a: 1 }; return [s, s] })()', [{ a: 1 }, { a: 1 }]],
    ['Object.defineProperty({ a: 1 }, "hidden", { value: 2 })', { a: 1 }],
  ];
  for (const [source, value] of SAFE) {
    it(`is copied: ${source}`, () => expect(read(source)).toMatchObject({ ok: true, value }));
  }

  it('has its -0 travel as 0', () => {
    const got = read('-0');
    expect(got.ok && Object.is(got.value, 0)).toBe(true);
  });

  it('keeps a key named __proto__ as an own property and touches no prototype', () => {
    const got = read('JSON.parse(\'{"__proto__":{"polluted":true},"constructor":1}\')');
    if (!got.ok) throw new Error(got.message);
    const value = got.value as Record<string, unknown>;
    expect(Object.hasOwn(value, '__proto__')).toBe(true);
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('comes out as it is for any JSON', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const clean: unknown = JSON.parse(JSON.stringify(value));
        expect(
          read(`(${JSON.stringify(JSON.stringify(clean))}, JSON.parse(${JSON.stringify(JSON.stringify(clean))}))`),
        ).toMatchObject({
          ok: true,
          value: clean,
        });
      }),
      { numRuns: 100 },
    );
  });

  it('comes out as it is for any string of UTF-16 units', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(read(JSON.stringify(text))).toMatchObject({ ok: true, value: text });
      }),
      { numRuns: 100 },
    );
  });
});

describe('a value that cannot travel is refused by its path', () => {
  const REFUSED: readonly [string, string][] = [
    ['10n', 'result: bigint'],
    ['Symbol("s")', 'result: symbol'],
    ['NaN', 'result: NaN'],
    ['-Infinity', 'result: -Infinity'],
    ['() => 1', 'result: function'],
    ['(class A {})', 'result: function'],
    ['({ items: [0, 1, 2, { when: new Date(0) }] })', 'result.items[3].when: Date'],
    ['({ "a b": new Map() })', 'result["a b"]: Map'],
    ['[new Set()]', 'result[0]: Set'],
    ['({ a: new Uint8Array(1) })', 'result.a: Uint8Array'],
    ['new ArrayBuffer(1)', 'result: ArrayBuffer'],
    ['({ p: Promise.resolve(1) })', 'result.p: Promise'],
    ['/x/', 'result: RegExp'],
    ['new Error("x")', 'result: Error'],
    ['new Number(1)', 'result: Number'],
    ['new (class Foo { a = 1 })()', 'result: instance of Foo'],
    ['new (class extends Array {})()', 'result: class instance'],
    ['Object.create({ inherited: 1 })', 'result: class instance'],
    ['new Proxy({}, {})', 'result: Proxy'],
    ['({ a: new Proxy([], {}) })', 'result.a: Proxy'],
    ['({ get a() { return 1 } })', 'result.a: accessor'],
    ['({ set a(v) {} })', 'result.a: accessor'],
    ['Object.defineProperty([1], 0, { get: () => 1 })', 'result[0]: accessor'],
    ['[1, , 2]', 'result[1]: hole in a sparse array'],
    ['[1, undefined]', 'result[1]: undefined'],
    ['({ [Symbol("k")]: 1 })', 'result[Symbol(k)]: symbol key'],
    ['(() => { const a = {}; a.b = { a }; return a })()', 'result.b.a: cycle'],
    ['(() => { const a = []; a.push(a); return a })()', 'result[0]: cycle'],
    ['(() => { const a = []; a.length = 2 ** 32 - 1; return a })()', 'result: more than 262144 values'],
    ['(() => { let o = {}; for (let i = 0; i < 100; i += 1) o = [o]; return o })()', 'nested deeper than 64 levels'],
    ['new WeakMap()', 'result: WeakMap'],
    ['(function* () {})()', 'result: Generator'],
    ['(function () { return arguments })(1)', 'result: Arguments'],
  ];
  for (const [source, message] of REFUSED) {
    it(source, () => {
      const got = read(source);
      expect(got).toMatchObject({ ok: false, reason: 'not-serializable' });
      expect(!got.ok && got.message).toContain(message);
    });
  }
});

describe('reading', () => {
  it('runs no code of the guest', () => {
    const source = `
      globalThis.ran = [];
      const note = (what) => () => { ran.push(what); return 1 };
      const traps = new Proxy({}, { get: (_, trap) => (...args) => { ran.push(trap); return Reflect[trap](...args) } });
      const value = { p: new Proxy({}, traps) };
      const getter = { get a() { ran.push('getter'); return 1 }, toJSON: undefined };
      Object.prototype.toJSON = note('toJSON');
      Object.prototype[Symbol.toPrimitive] = note('toPrimitive');
      Array.prototype[Symbol.iterator] = note('iterator');
      Symbol.keyFor = note('keyFor');
      Object.defineProperty(Symbol.prototype, 'description', { get: note('description') });
      globalThis.values = [{ ok: 1 }, value, getter, { then: 1 }, { [Symbol('s')]: 1 }]`;
    withValue(vm, source, () => {
      for (let index = 0; index < 5; index += 1) {
        const item = vm.evaluate(`values[${index}]`, 'guest.js').value;
        readValue(vm, item, 'result');
        vm.free(item);
      }
      const ran = vm.evaluate('ran.length', 'guest.js').value;
      expect(vm.numberOf(ran)).toBe(0);
    });
  });

  it('leaves nothing behind when it refuses a value', () => {
    const source = `const o = { last: [[{}]] }; for (let i = 0; i < 20_000; i += 1) o['k' + i] = i; o.k1 = { deep: [1n] }; o`;
    withValue(vm, source, (ptr) => {
      readValue(vm, ptr, 'result');
      const before = heapBytes(vm);
      for (let count = 0; count < 30; count += 1) expect(readValue(vm, ptr, 'result').ok).toBe(false);
      expect(heapBytes(vm)).toBe(before);
    });
  });

  it('is not changed by replaced intrinsics', () => {
    const source = `
      JSON.stringify = () => 'mine';
      const define = Object.defineProperty;
      Object.keys = Reflect.ownKeys = Object.getOwnPropertyDescriptor = () => [];
      Array.isArray = () => false;
      Array.prototype.push = Array.prototype.map = () => 'mine';
      for (const name of ['get', 'set', 'value', 'writable', 'enumerable', 'a', 'b', '0', '1']) {
        define(Object.prototype, name, { __proto__: null, get: () => 'mine', set() {}, configurable: true });
        define(Array.prototype, name, { __proto__: null, get: () => 'mine', set() {}, configurable: true });
      }
      ({ a: [1, { b: 'c' }] })`;
    expect(read(source)).toMatchObject({ ok: true, value: { a: [1, { b: 'c' }] } });
  });

  it('cannot be lied to about what is an array or a plain object', () => {
    expect(read('Object.setPrototypeOf([1], null)')).toMatchObject({ ok: false });
    expect(read('Object.setPrototypeOf({ length: 1, 0: 1 }, Array.prototype)')).toMatchObject({ ok: false });
    expect(read('Object.assign(new Date(0), { [Symbol.toStringTag]: "Object" })')).toMatchObject({ ok: false });
  });

  it('charges each copy of what is shared', () => {
    const source = '(() => { let o = [1]; for (let i = 0; i < 30; i += 1) o = [o, o]; return o })()';
    expect(read(source)).toMatchObject({ ok: false, reason: 'not-serializable' });
  });

  it('keeps to its budget of values, depth and characters', () => {
    const budget: ReadBudget = { depth: 2, values: 4, chars: 6 };
    expect(read('[1, 2, 3]', budget)).toMatchObject({ ok: true });
    expect(read('[1, 2, 3, 4]', budget)).toMatchObject({ ok: false });
    expect(read('[[1]]', budget)).toMatchObject({ ok: true });
    expect(read('[[[]]]', budget)).toMatchObject({ ok: false });
    expect(read('({ abc: "def" })', budget)).toMatchObject({ ok: true, chars: 6 });
    expect(read('({ abc: "defg" })', budget)).toMatchObject({ ok: false });
  });

  it('says that memory is missing, not that the value is wrong', () => {
    vm.reset();
    vm.begin(hooks(), MEMORY);
    const { ok, value } = vm.evaluate('"é".repeat(14 * 1024 * 1024)', 'guest.js');
    expect(ok).toBe(true);
    expect(readValue(vm, value, 'result')).toMatchObject({ ok: false, reason: 'no-memory' });
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { formatValue } from '../../../src/guest/engine/format-value.js';
import type { GuestVm } from '../../../src/guest/engine/guest-vm.js';
import { createVm, withValue } from './vm.js';

let vm: GuestVm;
beforeAll(async () => {
  vm = await createVm();
});

const show = (source: string, maxChars = 10_000): string =>
  withValue(vm, source, (ptr) => formatValue(vm, ptr, maxChars));

const FORMS: readonly [source: string, shown: string][] = [
  ['"as it is\\n"', 'as it is\n'],
  ['""', ''],
  ['undefined', 'undefined'],
  ['null', 'null'],
  ['true', 'true'],
  ['1.5', '1.5'],
  ['NaN', 'NaN'],
  ['-0', '0'],
  ['10n', '10'],
  ['Symbol("s")', 'Symbol(s)'],
  ['Symbol()', 'Symbol()'],
  ['({ a: 1, b: [true, null, "x"] })', '{"a":1,"b":[true,null,"x"]}'],
  ['({ a: undefined, b: 1 })', '{"b":1}'],
  ['[undefined, , 1]', '[undefined,null,1]'],
  ['Object.create(null)', '{}'],
  ['(function foo() {})', '[Function foo]'],
  ['() => 1', '[Function]'],
  ['(class A {})', '[Function A]'],
  ['new TypeError("bad")', 'TypeError: bad'],
  ['new Error()', 'Error'],
  ['({ e: new RangeError("r") })', '{"e":RangeError: r}'],
  ['new Date(0)', '"1970-01-01T00:00:00.000Z"'],
  ['new Date(NaN)', '"Invalid Date"'],
  ['new Map([[1, { a: 2 }]])', 'Map(1) [[1,{"a":2}]]'],
  ['new Set(["x"])', 'Set(1) ["x"]'],
  ['new URL("http://a.b/c")', '"http://a.b/c"'],
  ['new Uint8Array(3)', '[Uint8Array]'],
  ['new WeakMap()', '[WeakMap]'],
  ['/a/g', '[RegExp]'],
  ['Promise.resolve(1)', '[Promise]'],
  ['new Proxy({}, {})', '[Proxy]'],
  ['new (class Foo { x = 1 })()', '{"x":1}'],
  ['({ get a() { return 1 } })', '{"a":[Getter]}'],
  ['(() => { const a = { n: 1 }; a.self = a; return a })()', '{"n":1,"self":[Circular]}'],
  ['(() => { const s = {}; return [s, s] })()', '[{},{}]'],
  ['(() => { let o = 1; for (let i = 0; i < 12; i += 1) o = [o]; return o })()', '[[[[[[[[[Array]]]]]]]]]'],
];

describe('a logged value is shown', () => {
  for (const [source, shown] of FORMS) it(`${source} as ${shown}`, () => expect(show(source)).toBe(shown));
});

describe('showing a value', () => {
  it('runs no code of the guest', () => {
    const hostile = `
      globalThis.ran = 0;
      const run = () => { ran += 1; return 'mine' };
      const value = {
        toString: run, toJSON: run, valueOf: run, [Symbol.toPrimitive]: run,
        [Symbol.for('nodejs.util.inspect.custom')]: run, get g() { return run() },
        d: new (class extends Date { toISOString() { return run() } toJSON() { return run() } })(0),
        e: Object.defineProperty(new Error('x'), 'message', { get: run }),
        m: new (class extends Map { forEach() { run() } [Symbol.iterator]() { return run() } })([[1, 2]]),
      };
      Map.prototype.forEach = Date.prototype.toISOString = Error.prototype.toString = run;
      value`;
    withValue(vm, hostile, (ptr) => {
      expect(formatValue(vm, ptr, 10_000)).toContain('"d":"1970-01-01T00:00:00.000Z","e":Error,"m":Map(1) [[1,2]]');
      expect(vm.numberOf(vm.evaluate('ran', 'guest.js').value)).toBe(0);
    });
  });

  it('costs no more than what is kept of it', () => {
    expect(show('"x".repeat(5_000_000)', 100)).toHaveLength(100);
    expect(show('Array.from({ length: 100_000 }, (_, i) => i)', 100).length).toBeLessThan(200);
    expect(show('Array.from({ length: 2_000 }, () => 0)')).toMatch(/,… 1000 more\]$/);
    expect(show('({ ["k".repeat(100)]: { a: 1 }, b: 2 })', 50).length).toBeLessThan(200);
  });

  it('follows no prototype chain to its end', () => {
    const long = `
      let proto = Object.create(null);
      for (let i = 0; i < 50_000; i += 1) proto = Object.create(proto);
      Object.setPrototypeOf(new Error('x'), proto)`;
    expect(show(long)).toBe('Error: x');
  });
});

import { beforeAll, describe, expect, it } from 'vitest';
import { describeError, errorMessage } from '../../../src/guest/engine/describe-error.js';
import type { GuestVm } from '../../../src/guest/engine/guest-vm.js';
import { MAX_ERROR_TEXT_CHARS } from '../../../src/guest/limits.js';
import { createVm, withValue } from './vm.js';

let vm: GuestVm;
beforeAll(async () => {
  vm = await createVm();
});

const message = (source: string): string => withValue(vm, source, (ptr) => errorMessage(describeError(vm, ptr)));

const THROWN: readonly [source: string, message: string][] = [
  ['new Error("plain")', 'plain'],
  ['new Error()', 'Error'],
  ['new TypeError("bad")', 'TypeError: bad'],
  ['new RangeError()', 'RangeError'],
  ['Object.assign(new Error("m"), { name: "Mine" })', 'Mine: m'],
  ['new (class Mine extends Error { name = "Mine" })("m")', 'Mine: m'],
  ['new AggregateError([new Error("a")], "both")', 'AggregateError: both'],
  ['"a string"', 'a string'],
  ['null', 'null'],
  ['undefined', 'undefined'],
  ['42', '42'],
  ['Symbol("s")', 'Symbol(s)'],
  ['({ code: "timeout" })', '{"code":"timeout"}'],
  ['new Proxy(new Error("x"), { get() { throw 1 } })', '[Proxy]'],
  ['Object.defineProperty(new Error("x"), "message", { get() { throw 1 } })', 'Error'],
  ['Object.defineProperty(new Error("x"), "name", { get() { for (;;); } })', 'x'],
  ['Object.setPrototypeOf(new Error("x"), new Proxy({}, { get() { throw 1 } }))', 'x'],
  ['Object.setPrototypeOf(new Error("x"), null)', 'x'],
  ['Object.assign(new Error("x"), { message: { toString() { throw 1 } } })', 'Error'],
];

describe('what a guest throws is described', () => {
  it.each([
    '["\\x01".repeat(3e6)]',
    '({ ["\\x01".repeat(3e6)]: 1 })',
    '"x".repeat(3e6)',
    'Symbol("x".repeat(3e6))',
    '10n ** 20_000n',
    'Object.assign(new Error("m".repeat(3e6)), { name: "n".repeat(3e6) })',
    'Object.defineProperty(() => {}, "name", { value: "n".repeat(3e6) })',
    '[new TypeError("m".repeat(3e6))]',
  ])('within the limit: %s', (source) => {
    expect(message(source)).toHaveLength(MAX_ERROR_TEXT_CHARS);
  });

  for (const [source, text] of THROWN) it(`${source} as ${text}`, () => expect(message(source)).toBe(text));

  it('with its stack, and without one where the guest put something else in its place', () => {
    withValue(vm, 'new Error("x")', (ptr) => expect(describeError(vm, ptr).stack).toContain('guest.js:1'));
    withValue(vm, 'Object.defineProperty(new Error("x"), "stack", { get() { throw 1 } })', (ptr) =>
      expect(describeError(vm, ptr).message).toBe('x'),
    );
  });

  it('no longer than the limit', () => {
    withValue(vm, 'Object.assign(new Error("y".repeat(1e6)), { stack: "z".repeat(1e6) })', (ptr) => {
      const described = describeError(vm, ptr);
      expect(described.message).toHaveLength(MAX_ERROR_TEXT_CHARS);
      expect(described.stack).toHaveLength(MAX_ERROR_TEXT_CHARS);
    });
  });
});

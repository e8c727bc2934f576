import { beforeAll, describe, expect, it } from 'vitest';
import { BrokenGuest } from '../../../src/guest/engine/guest-errors.js';
import type { GuestVm } from '../../../src/guest/engine/guest-vm.js';
import { createVm, hooks, MEMORY, textOf } from './vm.js';

let vm: GuestVm;
beforeAll(async () => {
  vm = await createVm();
});

const TRACES: Readonly<Record<string, readonly [leave: string, look: string, pristine: string]>> = {
  'a global': ['globalThis.leaked = 1', 'typeof leaked', 'undefined'],
  'a global declaration': [
    'var leaked = 1; let alsoLeaked = 2',
    'typeof leaked + typeof alsoLeaked',
    'undefinedundefined',
  ],
  'a deleted global': ['delete globalThis.JSON', 'typeof JSON', 'object'],
  'a method of a prototype': ['Array.prototype.map = () => "mine"', '[1].map((x) => x + 1)', '2'],
  'a property of Object.prototype': ['Object.prototype.evil = 1', '"evil" in {}', 'false'],
  'a frozen intrinsic': ['Object.freeze(Array.prototype)', 'Object.isFrozen(Array.prototype)', 'false'],
  'a symbol of the registry': [
    'globalThis.s = Symbol.for("shared"); Symbol.for("shared").description',
    '(Symbol.for("shared") === globalThis.s) + "," + Object.getOwnPropertySymbols(globalThis).length',
    'false,1',
  ],
  'a console method': ['console.log = null', 'typeof console.log', 'function'],
  'a property of a function': ['Math.max.secret = 1', 'Math.max.secret', 'undefined'],
  'a replaced Math.random': ['Math.random = () => 4', 'Math.random() < 1', 'true'],
  'an Error hook': [
    'Error.prepareStackTrace = () => "x"; Error.stackTraceLimit = 1',
    'typeof Error.prepareStackTrace + (Error.stackTraceLimit > 1)',
    'undefinedtrue',
  ],
  'a RegExp state': ['/(a)/.exec("a")', 'typeof RegExp.$1', 'undefined'],
};

describe('a reset', () => {
  for (const [what, [leave, look, pristine]] of Object.entries(TRACES)) {
    it(`leaves nothing of ${what}`, () => {
      vm.begin(hooks(), MEMORY);
      vm.free(vm.evaluate(leave, 'guest.js').value);
      expect(vm.reset()).toBe(true);
      vm.begin(hooks(), MEMORY);
      expect(textOf(vm, look)).toBe(pristine);
      vm.reset();
    });
  }

  it('forgets the jobs that were pending', () => {
    vm.begin(hooks(), MEMORY);
    vm.free(vm.evaluate('Promise.resolve().then(() => { globalThis.late = 1 })', 'guest.js').value);
    vm.reset();
    vm.begin(hooks(), MEMORY);
    expect(vm.runJob()).toBe('none');
    expect(textOf(vm, 'typeof late')).toBe('undefined');
  });

  it('forgets the timers of the run before', () => {
    let next = 1;
    vm.reset();
    vm.begin(hooks({ setTimer: () => next++ }), MEMORY);
    vm.free(vm.evaluate('setTimeout(() => { globalThis.fired = 1 }, 5)', 'guest.js').value);
    vm.reset();
    vm.begin(hooks(), MEMORY);
    expect(vm.booleanOf(vm.tryInternal('fire', vm.newNumber(1)).value)).toBe(false);
    expect(textOf(vm, 'typeof fired')).toBe('undefined');
  });

  it('gives each run random numbers of its own', () => {
    const seen = new Set<string>();
    for (let run = 0; run < 50; run += 1) {
      vm.reset();
      vm.begin(hooks(), MEMORY);
      seen.add(textOf(vm, '[Math.random(), Math.random()]'));
    }
    expect(seen.size).toBe(50);
  });

  it('wipes what an earlier guest wrote, so that no later one can find it in fresh memory', () => {
    vm.reset();
    vm.begin(hooks(), MEMORY);
    const fill = 'for (let i = 0; i < 40; i += 1) new Uint8Array(50_000).fill(0xa7)';
    vm.free(vm.evaluate(fill, 'guest.js').value);
    vm.reset();
    vm.begin(hooks(), MEMORY);
    const found = 'Array.from({ length: 40 }, () => new Uint8Array(50_000)).some((a) => a.includes(0xa7))';
    expect(textOf(vm, found)).toBe('false');
    vm.reset();
  });

  it('makes thousands of runs start from the same usage of memory', () => {
    vm.reset();
    vm.begin(hooks(), MEMORY);
    const before = vm.nearLimit(64 * 1024);
    for (let run = 0; run < 2_000; run += 1) {
      vm.reset();
      vm.begin(hooks(), MEMORY);
      vm.free(vm.evaluate('globalThis.keep = Array.from({ length: 50 }, (_, i) => ({ i }))', 'guest.js').value);
    }
    vm.reset();
    vm.begin(hooks(), MEMORY);
    expect(vm.nearLimit(64 * 1024)).toBe(before);
    vm.reset();
  });
});

describe('an instance that cannot be used again', () => {
  it('is one whose heap has grown', async () => {
    const grown = await createVm();
    grown.begin(hooks(), MEMORY);
    grown.free(grown.evaluate('new Uint8Array(12e6); 1', 'guest.js').value);
    expect(grown.reset()).toBe(false);
    grown.dispose();
  });

  it('is one whose engine broke', async () => {
    const broken = await createVm();
    const interrupt = () => {
      throw new RangeError('no stack left');
    };
    broken.begin(hooks({ interrupt }), MEMORY);
    expect(() => broken.evaluate('for (;;) {}', 'guest.js')).toThrow(BrokenGuest);
    expect(broken.reset()).toBe(false);
    broken.dispose();
  });
});

describe('what a host function returns', () => {
  it('is let go, so that a loop over host calls stays within its memory', () => {
    vm.reset();
    vm.begin(hooks(), 4 * 1024 * 1024);
    const { ok } = vm.evaluate(
      'for (let i = 0; i < 500; i += 1) crypto.getRandomValues(new Uint8Array(65_536))',
      'guest.js',
    );
    expect(ok).toBe(true);
    vm.reset();
  });

  it('is an error without a word of the host when the host fails', () => {
    vm.reset();
    vm.begin(
      hooks({
        log: () => {
          throw new Error('/secret/path');
        },
      }),
      MEMORY,
    );
    const told = textOf(vm, '(() => { try { console.log(1) } catch (e) { return e.message + e.stack } })()');
    expect(told).toContain('the host could not answer');
    expect(told).not.toMatch(/secret|\/src\/|\.ts/);
    vm.reset();
  });
});

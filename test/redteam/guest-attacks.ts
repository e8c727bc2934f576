import type { ExecuteOptions } from '../../dist/guest/index.js';
import { defineTools, type ToolProvider } from '../../src/capabilities/index.js';

/** A program, and what must become of it. */
export interface GuestAttack {
  readonly id: string;
  readonly what: string;
  readonly code: string;
  /** What must come back: a value, or one of these error codes. */
  readonly expected: { readonly result: unknown } | { readonly codes: readonly string[] };
  readonly options?: ExecuteOptions;
  readonly tools?: ToolProvider;
}

/** What the programs may call. */
export const TOOLS = defineTools('tools', {
  echo: (input) => input,
  data: () => ({ list: [1], nested: { a: 1 } }),
  fail: () => {
    throw new Error('boom', { cause: new Error('inner') });
  },
  never: () => new Promise(() => {}),
  size: (input) => String(input).length,
});

const value = (result: unknown) => ({ result });
const fails = (...codes: string[]) => ({ codes });
/** Looks for a host object through every way to a function constructor. */
const reach = (expression: string) => `
  const reached = [];
  const look = (thing) => {
    let maker;
    try { maker = thing.constructor.constructor } catch { return }
    try { reached.push(maker('return typeof process + typeof require + typeof Buffer + typeof fetch + typeof Worker')()) } catch (e) { reached.push('threw') }
  };
  ${expression}
  [...new Set(reached)]`;
const NOTHING = 'undefinedundefinedundefinedundefinedundefined';
const QUICK: ExecuteOptions = { timeoutMs: 150 };

export const ESCAPES: readonly GuestAttack[] = [
  {
    id: 'E01',
    what: 'the function constructor',
    code: '({}).constructor.constructor("return typeof process")()',
    expected: value('undefined'),
  },
  {
    id: 'E01',
    what: 'the function constructor, for process itself',
    code: '({}).constructor.constructor("return process")()',
    expected: fails('runtime_error'),
  },
  {
    id: 'E02',
    what: 'constructors of results, errors, tools, namespaces, globals and callbacks',
    code: reach(
      'look(await tools.data()); look((await tools.data()).list); try { await tools.fail() } catch (e) { look(e); look(e.cause ?? e) } look(tools.echo); look(globalThis); look(console.log); look(setTimeout); look(URL); look(crypto.randomUUID); look(new URL("http://a")); look(Error.prototype); [1].map((...args) => args.forEach(look));',
    ),
    expected: value([NOTHING]),
  },
  {
    id: 'E03',
    what: 'the constructor of a promise that a tool returned',
    code: reach('const p = tools.echo(1); look(p); look(p.then); look(p.constructor); await p;'),
    expected: value([NOTHING]),
  },
  {
    id: 'E04',
    what: 'constructors of async functions and generators',
    code: `const made = [];
      for (const f of [async () => {}, function* () {}, async function* () {}]) {
        try { const it = f.constructor('return typeof process')(); made.push(await (it.next ? it.next().value ?? (await it.next()).value : it)) } catch (e) { made.push('threw') }
      }
      made.every((m) => m === undefined || m === 'undefined' || m === 'threw')`,
    expected: value(true),
  },
  {
    id: 'E05',
    what: 'call sites of Error.prepareStackTrace',
    code: `const seen = [];
      Error.prepareStackTrace = (error, sites) => { for (const site of sites) seen.push(typeof site.getThis?.(), typeof site.getFunction?.(), String(site.getFileName?.())); return 'x' };
      try { null.x } catch (e) { e.stack } try { await tools.fail() } catch (e) { e.stack } try { new URL('bad') } catch (e) { e.stack }
      seen.some((s) => /\\/|file:|node:|dist|src/.test(s))`,
    expected: value(false),
  },
  {
    id: 'E07',
    what: 'a stack overflow inside host callbacks',
    code: `const caught = [];
      const dig = (step) => { const down = () => { try { step() } catch (e) { caught.push(e) } down() }; try { down() } catch (e) { caught.push(e) } };
      dig(() => tools.echo({ a: [1] }).catch(() => {})); dig(() => console.log({ a: 1 })); dig(() => new URL('http://a/b')); dig(() => crypto.getRandomValues(new Uint8Array(4)));
      caught.every((e) => e === undefined || e instanceof Error && e.constructor.constructor === Function && !/\\/(dist|src|node_modules)\\//.test(e.stack))`,
    expected: value(true),
    options: { timeoutMs: 10_000 },
  },
  {
    id: 'E08',
    what: 'SuppressedError and disposable stacks',
    code: 'const s = typeof SuppressedError + typeof DisposableStack; s.length > 0',
    expected: value(true),
  },
  {
    id: 'E09',
    what: 'causes and aggregates of a tool error',
    code: 'try { await tools.fail() } catch (e) { return [typeof e.cause, typeof e.errors, Reflect.ownKeys(e).sort().join()] }',
    expected: value(['undefined', 'undefined', 'code,message']),
  },
  {
    id: 'E12',
    what: 'a thenable as the result',
    code: 'let ran = 0; const value = { then(resolve) { ran += 1; resolve(ran) } }; value',
    expected: value(1),
  },
  {
    id: 'E12',
    what: 'a then getter as tool input',
    code: 'try { await tools.echo({ get then() { throw 1 } }) } catch (e) { return e.code }',
    expected: value('serialization_error'),
  },
  {
    id: 'E13',
    what: 'a proxy with every trap as tool input',
    code: 'const hit = []; const handler = new Proxy({}, { get: (_, trap) => { hit.push(trap); return undefined } }); try { await tools.echo(new Proxy({}, handler)) } catch (e) { return [e.code, hit.length] }',
    expected: value(['serialization_error', 0]),
  },
  {
    id: 'E14',
    what: 'getters, toJSON and conversions of the result',
    code: 'globalThis.n = 0; const hit = () => { n += 1; return 1 }; const r = { toJSON: undefined, a: { valueOf: undefined } }; Object.prototype.toJSON = hit; Object.prototype[Symbol.toPrimitive] = hit; const out = { plain: 1 }; out',
    expected: value({ plain: 1 }),
  },
  {
    id: 'E14',
    what: 'a getter in the result',
    code: '({ get a() { throw new Error("ran") } })',
    expected: fails('serialization_error'),
  },
  {
    id: 'E16',
    what: 'prototype keys in input and result',
    code: 'const back = await tools.echo(JSON.parse(\'{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}\')); [Object.keys(back).sort(), ({}).polluted === undefined]',
    expected: value([['__proto__', 'constructor'], true]),
  },
  {
    id: 'E17',
    what: 'inherited names of the namespace',
    code: '["constructor", "__proto__", "hasOwnProperty", "toString", "valueOf", "then"].map((name) => typeof tools[name])',
    expected: value(Array(6).fill('undefined')),
  },
  {
    id: 'E18',
    what: 'tools with awkward names',
    code: 'const names = Object.getOwnPropertyNames(odd).sort(); const values = []; for (const name of names) values.push(await odd[name]()); [names, values]',
    tools: defineTools(
      'odd',
      Object.fromEntries(
        ['__proto__', 'toString', 'constructor', 'delete', 'a-b', 'a_b', '1x', 'prototype'].map((name) => [
          name,
          () => name,
        ]),
      ),
    ),
    expected: value([
      ['_1x', '__proto__', 'a_b', 'a_b__2', 'constructor', 'delete_', 'prototype', 'toString'],
      ['1x', '__proto__', 'a-b', 'a_b', 'constructor', 'delete', 'prototype', 'toString'],
    ]),
  },
  {
    id: 'E18',
    what: 'a tool called then',
    code: 'const p = odd.then(1); (await p) + typeof odd',
    tools: defineTools('odd', Object.fromEntries([['then', (n: unknown) => n]])),
    expected: value('1object'),
  },
  {
    id: 'E20',
    what: 'an inspection hook on what is logged and returned',
    code: 'let ran = 0; console.log({ [Symbol.for("nodejs.util.inspect.custom")]: () => { ran += 1 } }); ran',
    expected: value(0),
  },
  { id: 'E21', what: 'dynamic imports', code: 'await import("node:fs")', expected: fails('runtime_error') },
  {
    id: 'E21',
    what: 'dynamic imports made at run time',
    code: 'const out = []; for (const url of ["node:fs", "fs", "data:text/javascript,1", "file:///etc/passwd", "https://example.com/x.js"]) { try { await (0, eval)("import(" + JSON.stringify(url) + ")"); out.push("loaded") } catch (e) { out.push("refused") } } [...new Set(out)]',
    expected: value(['refused']),
  },
  {
    id: 'E22',
    what: 'eval and new Function',
    code: '[eval("typeof process"), (0, eval)("typeof require"), new Function("return typeof module")(), (0, eval)("this") === globalThis]',
    expected: value(['undefined', 'undefined', 'undefined', true]),
  },
  {
    id: 'E23',
    what: 'a break out of the wrapper',
    code: '}); process.exit(1); (async()=>{',
    expected: fails('runtime_error'),
  },
  { id: 'E23', what: 'an unterminated comment', code: '1; /*', expected: fails('runtime_error') },
  { id: 'E23', what: 'an unterminated template', code: '`}); process.exit(1);', expected: fails('runtime_error') },
  {
    id: 'E23',
    what: 'an HTML-like comment',
    code: '1 <!-- })\n',
    expected: fails('runtime_error', 'serialization_error', 'ok'),
  },
  { id: 'E23', what: 'line separators', code: '1\u2028})(); process.exit(1)//', expected: fails('runtime_error') },
  { id: 'E25', what: 'WebAssembly', code: 'typeof WebAssembly', expected: value('undefined') },
  {
    id: 'E26',
    what: 'shared memory and a precise clock',
    code: '[typeof SharedArrayBuffer, typeof performance, (() => { try { Atomics.wait(new Int32Array(8), 0, 0); return "waited" } catch { return "refused" } })()]',
    expected: value(['undefined', 'undefined', 'refused']),
  },
  {
    id: 'E26',
    what: 'shared memory through a constructor',
    code: 'try { const m = new (Object.getPrototypeOf(Int32Array))(); return "made" } catch { return "refused" }',
    expected: value('refused'),
  },
  {
    id: 'E27',
    what: 'weak references that watch the host',
    code: 'const seen = []; const registry = new FinalizationRegistry((held) => { seen.push(held); throw new Error("in a finalizer") }); for (let i = 0; i < 1e4; i += 1) { registry.register({}, i); new WeakRef({}) } await tools.echo(1); seen.every((n) => typeof n === "number")',
    expected: fails('ok', 'runtime_error'),
  },
  {
    id: 'E28',
    what: 'host paths in stacks',
    code: 'Error.stackTraceLimit = Infinity; const stacks = []; for (const f of [() => null.x, () => new URL("bad"), () => setTimeout(1), () => crypto.getRandomValues(1), () => structuredClone(() => 1), () => JSON.parse("{")]) try { f() } catch (e) { stacks.push(e.stack) } try { await tools.fail() } catch (e) { stacks.push(e.stack) } stacks.some((s) => /\\/|file:|node:|\\.ts|\\.wasm/.test(s))',
    expected: value(false),
  },
  {
    id: 'E30',
    what: 'a forged timeout',
    code: 'throw Object.assign(new Error("Execution timed out"), { code: "timeout", name: "TimeoutError" })',
    expected: fails('runtime_error'),
  },
  {
    id: 'E30',
    what: 'a forged memory failure',
    code: 'class InternalError extends Error { name = "InternalError" } throw Object.assign(new InternalError("out of memory"), { code: "memory_limit" })',
    expected: fails('runtime_error'),
  },
  {
    id: 'E30',
    what: 'an error of another call, changed and changed back',
    code: 'let e1; try { await tools.fail() } catch (e) { e1 = e } e1.code = "timeout"; e1.message = "Execution timed out"; throw e1',
    expected: fails('runtime_error'),
  },
  {
    id: 'E30',
    what: 'a trusted error made up in its stack hook',
    code: 'Error.prepareStackTrace = (e) => { try { Object.defineProperty(e, "code", { value: "timeout" }); e.message = "Execution timed out" } catch {} return "" }; await tools.fail()',
    expected: fails('runtime_error', 'tool_error'),
  },
  {
    id: 'E31',
    what: 'protocol messages in logs',
    code: 'console.log(\'{"type":"done","id":"x","ok":true,"durationMs":0,"logs":[],"result":"forged"}\'); console.log("\\n{\\"type\\":\\"ready\\"}\\n"); "real"',
    expected: value('real'),
  },
  {
    id: 'E32',
    what: 'calls that outlive the run',
    code: 'setTimeout(() => tools.echo("late"), 0); tools.never(); "ended"',
    expected: value('ended'),
  },
  {
    id: 'E33',
    what: 'state that is left behind',
    code: 'Object.prototype.left = 1; globalThis.left = 1; Array.prototype.map = () => "left"; Math.random = () => 0; setInterval(() => {}, 1); Symbol.for("left"); "left"',
    expected: value('left'),
  },
  {
    id: 'E33',
    what: 'state of the run before',
    code: '[typeof left, ({}).left === undefined, [1].map((x) => x)[0], Math.random() > 0]',
    expected: value(['undefined', true, 1, true]),
  },
  {
    id: 'E34',
    what: 'bytecode',
    code: '[typeof bjson, typeof std, typeof os, typeof scriptArgs, typeof print, typeof gc]',
    expected: value(Array(6).fill('undefined')),
  },
];

export const FLOODS: readonly GuestAttack[] = [
  { id: 'D01', what: 'a busy loop', code: 'for (;;) {}', expected: fails('timeout'), options: QUICK },
  {
    id: 'D02',
    what: 'endless microtasks',
    code: '(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})',
    expected: fails('timeout'),
    options: QUICK,
  },
  {
    id: 'D04',
    what: 'a flood of timers',
    code: 'for (;;) setTimeout(() => {}, 0)',
    expected: fails('runtime_error'),
    options: { timeoutMs: 5_000 },
  },
  {
    id: 'D04',
    what: 'a flood of intervals that fire',
    code: 'for (let i = 0; i < 5_000; i += 1) setInterval(() => { Math.random() }, 0); await new Promise(() => {})',
    expected: fails('timeout'),
    options: { timeoutMs: 400 },
  },
  {
    id: 'D05',
    what: 'a huge array as text',
    code: 'new Array(1e9) + ""',
    expected: fails('timeout'),
    options: QUICK,
  },
  {
    id: 'D05',
    what: 'a replace in a huge string',
    code: '"a".repeat(2 ** 28).replace(/a/g, "bb").length',
    expected: fails('memory_limit', 'timeout'),
  },
  {
    id: 'D05',
    what: 'a huge power',
    code: '2n ** 10_000_000n > 1n',
    expected: fails('runtime_error', 'memory_limit', 'timeout', 'ok'),
    options: QUICK,
  },
  {
    id: 'D05',
    what: 'products of huge integers',
    code: 'let n = 3n ** 100_000n; for (;;) n = n * n % (7n ** 200_000n)',
    expected: fails('runtime_error', 'memory_limit', 'timeout'),
    options: QUICK,
  },
  {
    id: 'D05',
    what: 'growth by concat',
    code: 'let a = [1]; for (;;) a = a.concat(a)',
    expected: fails('memory_limit', 'timeout'),
    options: { timeoutMs: 1_000, memoryLimitBytes: 8e6 },
  },
  {
    id: 'D05',
    what: 'a huge JSON text',
    code: 'JSON.stringify(Array.from({ length: 1e6 }, () => ({})))',
    expected: fails('memory_limit', 'timeout'),
    options: { memoryLimitBytes: 8e6 },
  },
  {
    id: 'D05',
    what: 'a hostile comparator',
    code: 'Array.from({ length: 1e5 }, (_, i) => i).sort(() => { for (let i = 0; i < 1e4; i += 1); return Math.random() - 0.5 })',
    expected: fails('timeout'),
    options: QUICK,
  },
  { id: 'D05', what: 'a huge pad', code: '"".padEnd(2 ** 29).length', expected: fails('memory_limit') },
  {
    id: 'D06',
    what: 'a catastrophic regular expression',
    code: '/(a+)+$/.test("a".repeat(40) + "b")',
    expected: fails('timeout'),
    options: QUICK,
  },
  {
    id: 'D08',
    what: 'running out of memory and going on',
    code: 'const a = []; try { for (;;) a.push(new Uint8Array(1e5)) } catch { a.length = 0 } "went on"',
    expected: value('went on'),
    options: { memoryLimitBytes: 8e6 },
  },
  {
    id: 'D08',
    what: 'running out of memory again and again',
    code: 'for (let i = 0; i < 50; i += 1) try { const a = []; for (;;) a.push(new Uint8Array(1e6)) } catch {} "alive"',
    expected: fails('ok', 'memory_limit', 'timeout'),
    options: { memoryLimitBytes: 8e6 },
  },
  { id: 'D09', what: 'deep recursion', code: 'const f = () => f(); f()', expected: fails('runtime_error') },
  {
    id: 'D09',
    what: 'a deep result',
    code: 'let o = {}; for (let i = 0; i < 1e5; i += 1) o = { o }; o',
    expected: fails('serialization_error'),
  },
  {
    id: 'D09',
    what: 'deep JSON parsed',
    code: 'JSON.parse("[".repeat(1e5) + "]".repeat(1e5))',
    expected: fails('runtime_error', 'serialization_error'),
  },
  {
    id: 'D10',
    what: 'a wide result',
    code: 'Array.from({ length: 1e6 }, () => ({}))',
    expected: fails('serialization_error', 'memory_limit', 'timeout'),
  },
  {
    id: 'D12',
    what: 'numbers at the edge',
    code: '[2 ** 53, -0, 5e-324, 1.7976931348623157e308]',
    expected: value([2 ** 53, 0, 5e-324, 1.7976931348623157e308]),
  },
  { id: 'D12', what: 'numbers that are none', code: '({ a: Infinity })', expected: fails('serialization_error') },
  { id: 'D12', what: 'lone surrogates and NUL', code: '"\\ud800\\0\\udfff"', expected: value('\ud800\0\udfff') },
  { id: 'D12', what: 'a string of 512 MB', code: '"x".repeat(2 ** 29)', expected: fails('memory_limit') },
  {
    id: 'D13',
    what: 'a flood of logs',
    code: 'for (let i = 0; i < 1e6; i += 1) console.log("x")',
    expected: fails('timeout', 'ok'),
    options: { timeoutMs: 500 },
  },
  {
    id: 'D13',
    what: 'one huge line',
    code: 'console.log("x".repeat(3e7)); console.log({ a: "y".repeat(1e7) }); 1',
    expected: fails('ok', 'memory_limit', 'runtime_error'),
  },
  {
    id: 'D13',
    what: 'arguments with hostile conversions',
    code: 'console.log({ toString() { for (;;) {} } }, { [Symbol.toPrimitive]() { for (;;) {} } }, Object.defineProperty(() => {}, "name", { get() { for (;;) {} } })); 1',
    expected: value(1),
    options: { timeoutMs: 2_000 },
  },
  {
    id: 'D13',
    what: 'arguments without end',
    code: 'console.log(...Array.from({ length: 20_000 }, () => "x")); 1',
    expected: fails('ok', 'runtime_error'),
  },
  {
    id: 'D14',
    what: '100,000 tool calls at once',
    code: 'const all = []; for (let i = 0; i < 1e5; i += 1) all.push(tools.echo(i).catch((e) => e.code)); const codes = await Promise.all(all); codes.includes("tool_error")',
    expected: fails('ok', 'memory_limit', 'timeout'),
    options: { timeoutMs: 1_000 },
  },
  {
    id: 'D14',
    what: 'a tool call per microtask',
    code: '(function f() { tools.never(); Promise.resolve().then(f) })(); await new Promise(() => {})',
    expected: fails('timeout', 'memory_limit'),
    options: { timeoutMs: 400 },
  },
  {
    id: 'D14',
    what: 'large inputs that nobody answers',
    code: 'const big = "x".repeat(4e6); const all = []; for (let i = 0; i < 100; i += 1) all.push(tools.never(big).catch((e) => e.code)); (await Promise.race(all))',
    expected: fails('ok', 'timeout', 'internal_error'),
    options: { timeoutMs: 3_000 },
  },
  {
    id: 'D14',
    what: 'calls that are open at the end',
    code: 'for (let i = 0; i < 1_000; i += 1) tools.never(); "ended"',
    expected: value('ended'),
  },
  {
    id: 'D16',
    what: 'a sparse array without end',
    code: 'const a = []; a.length = 2 ** 32 - 1; a',
    expected: fails('serialization_error'),
  },
  {
    id: 'D16',
    what: 'a sparse array as input',
    code: 'const a = []; a[2 ** 32 - 2] = 1; await tools.echo(a)',
    expected: fails('serialization_error'),
  },
  { id: 'D19', what: 'code of 50 MB', code: `"${'x'.repeat(50e6)}"`, expected: fails('validation_error') },
  { id: 'D19', what: 'a million nested brackets', code: '('.repeat(1_000_000), expected: fails('runtime_error') },
  {
    id: 'D19',
    what: 'nesting of every other kind',
    code: `${'[{a:'.repeat(50_000)}`,
    expected: fails('runtime_error'),
  },
  { id: 'D19', what: 'nested templates', code: `${'`${'.repeat(100_000)}`, expected: fails('runtime_error') },
  { id: 'D19', what: 'a chain of operators', code: `${'1+'.repeat(200_000)}1`, expected: fails('ok', 'runtime_error') },
  {
    id: 'D19',
    what: 'a chain of unary operators',
    code: `${'-'.repeat(1)}${'!'.repeat(200_000)}1`,
    expected: fails('runtime_error'),
  },
  ...[0, -1, Number.NaN, 1e308].map(
    (timeoutMs): GuestAttack => ({
      id: 'D20',
      what: `a time limit of ${timeoutMs}`,
      code: '1',
      options: { timeoutMs },
      expected: fails('validation_error'),
    }),
  ),
  ...[0, -1, Number.NaN, 1e308].map(
    (memoryLimitBytes): GuestAttack => ({
      id: 'D20',
      what: `a memory limit of ${memoryLimitBytes}`,
      code: '1',
      options: { memoryLimitBytes },
      expected: fails('validation_error'),
    }),
  ),
  {
    id: 'D21',
    what: 'a query of millions of pairs, parsed on the host',
    code: 'let refused = 0; for (const make of [() => new URLSearchParams("a&".repeat(1.5e7)), () => new URLSearchParams("a&".repeat(1e5)), () => new URL("http://a/" + "x".repeat(2e6))]) try { make() } catch { refused += 1 } refused',
    expected: value(3),
    options: { memoryLimitBytes: 256e6 },
  },
  ...['["\\x01".repeat(3e7)]', 'Object.assign(new Error("x"), { name: "\\x01".repeat(3e7) })'].map(
    (thrown): GuestAttack => ({
      id: 'D22',
      what: `what it throws is larger than a message: ${thrown}`,
      code: `throw ${thrown}`,
      expected: fails('runtime_error'),
      options: { memoryLimitBytes: 256e6 },
    }),
  ),
  {
    id: 'D23',
    what: 'large inputs at once that are larger as JSON',
    code: 'const s = "\\n".repeat(14e6); const all = await Promise.allSettled([1, 2, 3].map(() => tools.size(s))); const ends = all.map((one) => one.value ?? one.reason.code); if (ends.join() !== "14000000,14000000,tool_error") throw new Error(ends.join())',
    expected: fails('ok', 'timeout'),
    options: { memoryLimitBytes: 256e6 },
  },
  {
    id: 'D24',
    what: 'inputs of many empty values at once',
    code: 'const a = Array(262_000).fill([]); const codes = []; for (let i = 0; i < 6; i += 1) tools.never(a).catch((e) => codes.push(e.code)); await null; await null; if (codes.join() !== "tool_error,tool_error") throw new Error(codes.join())',
    expected: fails('ok', 'timeout'),
  },
];

/** Attacks that are on no list. */
export const OWN: readonly GuestAttack[] = [
  {
    id: 'G01',
    what: 'a setter on Array.prototype that sees what the host reads',
    code: 'const seen = []; Object.defineProperty(Array.prototype, 0, { set(v) { seen[1] = v }, get: () => "mine", configurable: true }); const back = await tools.echo({ a: 1, b: { c: 2 } }); delete Array.prototype[0]; [back, seen.length]',
    expected: value([{ a: 1, b: { c: 2 } }, 0]),
  },
  {
    id: 'G02',
    what: 'a species that replaces the promise of a tool',
    code: 'Promise.prototype.then = function () { return "mine" }; Promise = null; const r = await tools.echo(1); r',
    expected: value(1),
  },
  {
    id: 'G03',
    what: 'a resolve that is stolen',
    code: 'Object.defineProperty(Object.prototype, "then", { get() { return (resolve) => resolve("stolen") }, configurable: true }); await tools.data()',
    expected: fails('ok', 'timeout', 'serialization_error', 'runtime_error'),
    options: { timeoutMs: 500 },
  },
  {
    id: 'G04',
    what: 'replaced globals under the host globals',
    code: 'Map.prototype.get = Map.prototype.set = () => { throw 1 }; Array.prototype.push = String.prototype.padStart = () => { throw 2 }; Reflect.apply = null; JSON.parse = null; await new Promise((resolve) => setTimeout(resolve, 1)); [new URL("http://a/?b=1").searchParams.get("b"), crypto.randomUUID().length]',
    expected: value(['1', 36]),
  },
  {
    id: 'G05',
    what: 'an interrupt that is caught in a generator',
    code: 'function* g() { for (;;) try { yield } finally { for (;;) {} } } for (const _ of g()) { break }',
    expected: fails('timeout'),
    options: QUICK,
  },
  {
    id: 'G06',
    what: 'an async stack of promises that swallow the end',
    code: 'const never = () => new Promise(() => {}); const f = async () => { try { await never() } finally { await f() } }; for (let i = 0; i < 100; i += 1) f(); await never()',
    expected: fails('timeout'),
    options: QUICK,
  },
  {
    id: 'G07',
    what: 'numbers that look like the address of a trusted error',
    code: 'try { await tools.fail() } catch {} const codes = new Set(); throw 1048576',
    expected: fails('runtime_error'),
  },
  {
    id: 'G08',
    what: 'a log in a finalizer after the end',
    code: 'const r = new FinalizationRegistry(() => console.log("late")); for (let i = 0; i < 100; i += 1) r.register({}, 1); "ended"',
    expected: value('ended'),
  },
  {
    id: 'G09',
    what: 'tool input that changes while it is read',
    code: 'const input = { a: 1, get b() { delete input.a; return 2 } }; try { await tools.echo(input) } catch (e) { return [e.code, input.a] }',
    expected: value(['serialization_error', 1]),
  },
  {
    id: 'G10',
    what: 'a namespace that is replaced',
    code: 'try { tools = { echo: () => "mine" } } catch {} try { globalThis.tools = 1 } catch {} try { Object.defineProperty(tools, "echo", { value: 1 }) } catch {} try { delete globalThis.tools } catch {} await tools.echo("real")',
    expected: value('real'),
  },
  {
    id: 'G11',
    what: 'a URL that is a bomb',
    code: 'const u = new URL("http://a/?" + "a=b&".repeat(2e5)); let n = 0; for (const _ of u.searchParams) n += 1; u.searchParams.append("x", "y"); n',
    expected: fails('ok', 'memory_limit', 'timeout', 'runtime_error'),
    options: { timeoutMs: 3_000 },
  },
  {
    id: 'G12',
    what: 'memory that is taken by a stack hook of the host',
    code: 'const hoard = []; Error.prepareStackTrace = () => { for (;;) hoard.push(new Uint8Array(1e5)) }; await tools.fail()',
    expected: fails('memory_limit', 'tool_error', 'runtime_error'),
    options: { memoryLimitBytes: 8e6 },
  },
  {
    id: 'G13',
    what: 'structured clones without end',
    code: 'let o = {}; for (let i = 0; i < 1e5; i += 1) o = { o }; structuredClone(o); 1',
    expected: fails('ok', 'runtime_error', 'memory_limit', 'internal_error', 'timeout'),
    options: { timeoutMs: 1_500 },
  },
  {
    id: 'G14',
    what: 'a typed array of the whole heap through a detached buffer',
    code: 'const b = new ArrayBuffer(16); const v = new Uint8Array(b); const moved = b.transfer?.(1 << 20); [v.length, moved?.byteLength, v[0]]',
    expected: fails('ok', 'serialization_error'),
  },
  {
    id: 'G15',
    what: "the host's function, from the frames that a stack hook is shown",
    code: 'const taken = []; Error.prepareStackTrace = (_, frames) => { for (const frame of frames) for (const key of ["getFunction", "getThis"]) try { taken.push(frame[key]()) } catch {} return "" }; for (const attempt of [() => tools.echo(1n), () => tools.fail(), () => new URL("x"), () => setTimeout(1), () => crypto.getRandomValues(1)]) try { await attempt() } catch (e) { e.stack } taken.length',
    expected: value(0),
  },
  {
    id: 'G16',
    what: 'a toJSON on Array.prototype that the host would run',
    code: 'Array.prototype.toJSON = () => { for (;;) {} }; const p = new URLSearchParams([["a", "1"]]); [String(p)].length; nope',
    expected: fails('runtime_error'),
    options: { timeoutMs: 2_000 },
  },
  {
    id: 'G17',
    what: 'symbols that run code when the host names them',
    code: 'Symbol.keyFor = () => { for (;;) {} }; Object.defineProperty(Symbol.prototype, "description", { get() { for (;;) {} } }); console.log(Symbol("a")); ({ [Symbol("a")]: 1 })',
    expected: fails('serialization_error'),
    options: { timeoutMs: 2_000 },
  },
  {
    id: 'G18',
    what: 'an iterator of arrays that changes what is logged',
    code: 'Array.prototype[Symbol.iterator] = function* () { for (;;) yield 1 }; console.log("as it is"); 1',
    expected: value(1),
    options: { timeoutMs: 2_000 },
  },
];

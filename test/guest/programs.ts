import { defineTools } from '../../src/capabilities/index.js';

/** Tools of every temper, for the programs below. */
export const TOOLS = defineTools('tools', {
  echo: (input) => input,
  get: () => ({ a: 1, __proto__: null }),
  fail: () => {
    throw new Error('boom');
  },
  failNull: () => {
    throw null;
  },
  failProxy: () => {
    throw new Proxy(new Error('x'), {
      get() {
        throw new Error('trapped');
      },
    });
  },
  cycle: () => {
    const value: { self?: unknown } = {};
    value.self = value;
    return value;
  },
  date: () => ({ at: new Date(0) }),
  never: () => new Promise(() => {}),
  settlesTwice: () =>
    // A thenable that calls back twice, and throws on top.
    ({
      // biome-ignore lint/suspicious/noThenProperty: what the test is about
      then(resolve: (value: unknown) => void, reject: (reason: unknown) => void) {
        resolve('first');
        resolve('second');
        reject(new Error('third'));
      },
    }),
  proto: () => JSON.parse('{"__proto__":{"polluted":true},"constructor":"c","toString":"t"}'),
  slow: () => new Promise((resolve) => setTimeout(resolve, 20, 'slow')),
  strict: {
    input: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
    output: { type: 'number' },
    execute: ({ n }: { n: number }) => (n < 0 ? 'wrong' : n) as number,
  },
});

/** How code becomes a value. */
export const VALUES: readonly [code: string, value: unknown][] = [
  ['1 + 1', 2],
  ['1 + 1;', 2],
  ['1 + 1 // note', 2],
  ['1 + 1 /* note */;;', 2],
  ['const x = await tools.get({}); x.a', 1],
  ['return 5', 5],
  ['if (false) return 1; 5', 5],
  ['if (true) return 1; 5', 1],
  ['async () => 7', 7],
  ['async () => 7;', 7],
  ['() => 7', 7],
  ['async function main() { return 7 }', 7],
  ['(async () => { return await tools.echo(8) })()', 8],
  ['Promise.resolve(9)', 9],
  ['({ then(resolve) { resolve(10) } })', 10],
  ['const x = 1', undefined],
  ['for (const x of [1]) x', undefined],
  ['if (true) 5', undefined],
  ['class A {}', undefined],
  ['', undefined],
  ['  \n ', undefined],
  ['// nothing', undefined],
  ['```js\n1 + 2\n```', 3],
  ['```typescript\nconst n: number = 4; n\n```', 4],
  [`\`a\${1}b\``, 'a1b'],
  ['"</script><!-- x"', '</script><!-- x'],
  ['const f = (x: number): string => String(x); f(3)', '3'],
  ['interface A { b: number }\ntype C = A["b"];\nconst c = { b: 2 } satisfies A as A; c.b!', 2],
  ['undefined', undefined],
  ['null', null],
  ['[1, { a: null }]', [1, { a: null }]],
  ['({ a: undefined, b: 1 })', { b: 1 }],
  ['Object.assign(Object.create(null), { a: 1 })', { a: 1 }],
  ['"\\ud800x\\udfff"', '\ud800x\udfff'],
  ['({ ["\\ud800"]: "\\udc00" })', { '\ud800': '\udc00' }],
  ['"a\\0b\\u2028"', 'a\0b\u2028'],
  ['await tools.echo("\\ud800x")', '\ud800x'],
  ['await tools.echo({ k: ["\\udfff", "é😀"] })', { k: ['\udfff', 'é😀'] }],
  ['await tools.echo()', undefined],
  ['await tools.echo(undefined, 2)', undefined],
  ['await tools.echo(1, 2)', 1],
  ['await tools.echo(-0)', 0],
  ['await tools.settlesTwice()', 'first'],
  ['(await Promise.all([tools.slow(), tools.echo(1)])).join()', 'slow,1'],
  [
    'const p = await tools.proto(); [Object.hasOwn(p, "__proto__"), p.polluted === undefined, p.constructor, Object.getPrototypeOf(p) === Object.prototype]',
    [true, true, 'c', true],
  ],
  [
    'try { await tools.fail() } catch (e) { return [e instanceof Error, e.message, e.code, Object.keys(e).length] }',
    [true, 'boom', 'tool_error', 0],
  ],
  ['try { await tools.strict({ n: "x" }) } catch (e) { return e.code }', 'validation_error'],
  ['try { await tools.strict({ n: -1 }) } catch (e) { return e.code }', 'validation_error'],
  ['await tools.strict({ n: 4 })', 4],
  ['try { await tools.echo(new Date()) } catch (e) { return e.code }', 'serialization_error'],
  ['function f() { return f() } try { f() } catch (e) { return e instanceof RangeError }', true],
  ['Promise.reject(new Error("nobody cares")); 4', 4],
  ['typeof tools.echo + Object.isFrozen(tools) + Object.getPrototypeOf(tools)', 'functiontruenull'],
];

/** How a program fails, by its own fault or a tool's. */
export const ERRORS: readonly [code: string, errorCode: string, message: RegExp][] = [
  ['await tools.fail()', 'tool_error', /^boom$/],
  ['try { await tools.fail() } catch (e) { throw e }', 'tool_error', /^boom$/],
  [
    'let kept; try { await tools.fail() } catch (e) { kept = e } await tools.echo(1); throw kept',
    'tool_error',
    /^boom$/,
  ],
  ['try { await tools.fail() } catch (e) { e.extra = 1; throw e }', 'tool_error', /^boom$/],
  ['await tools.failNull()', 'tool_error', /without saying why/],
  ['await tools.failProxy()', 'tool_error', /./],
  ['await tools.cycle()', 'serialization_error', /result\.self: cycle/],
  ['await tools.date()', 'serialization_error', /result\.at: Date/],
  ['await tools.strict({})', 'validation_error', /input\.n/],
  ['await tools.echo(() => 1)', 'serialization_error', /input: function/],
  ['await tools.echo({ a: [1n] })', 'serialization_error', /input\.a\[0\]: bigint/],
  ['try { await tools.fail() } catch (e) { e.code = "timeout"; throw e }', 'runtime_error', /boom/],
  [
    'try { await tools.fail() } catch (e) { e.message = "Execution timed out"; throw e }',
    'runtime_error',
    /Execution timed out/,
  ],
  [
    'try { await tools.fail() } catch (e) { throw Object.assign(new Error(e.message), { code: e.code }) }',
    'runtime_error',
    /boom/,
  ],
  [
    'try { await tools.fail() } catch (e) { throw { ...e, code: e.code, message: e.message } }',
    'runtime_error',
    /boom/,
  ],
  ['try { await tools.fail() } catch (e) { throw new Error("wrapped", { cause: e }) }', 'runtime_error', /wrapped/],
  ['try { await tools.fail() } catch (e) { throw Object.create(e) }', 'runtime_error', /./],
  ['try { await tools.fail() } catch (e) { throw new Proxy(e, {}) }', 'runtime_error', /Proxy/],
  ['throw { code: "timeout", message: "Execution timed out" }', 'runtime_error', /timeout/],
  [
    'throw Object.assign(new Error("Execution timed out"), { code: "timeout", name: "TimeoutError" })',
    'runtime_error',
    /timed out/,
  ],
  [
    'throw Object.assign(new Error("out of memory"), { name: "InternalError", code: "memory_limit" })',
    'runtime_error',
    /out of memory/,
  ],
  ['throw Object.assign(new RangeError("interrupted"), { name: "InternalError" })', 'runtime_error', /interrupted/],
  ['throw "text"', 'runtime_error', /^text$/],
  ['throw null', 'runtime_error', /^null$/],
  ['throw undefined', 'runtime_error', /^undefined$/],
  ['throw new Proxy({}, { get() { throw 1 } })', 'runtime_error', /Proxy/],
  ['throw { get message() { throw 1 }, toString() { throw 2 } }', 'runtime_error', /Getter/],
  ['throw Object.defineProperty(new Error("x"), "message", { get() { throw 1 } })', 'runtime_error', /^Error$/],
  ['throw new (class extends Error { get stack() { throw 1 } })("x")', 'runtime_error', /x/],
  ['await Promise.reject(new TypeError("t"))', 'runtime_error', /^TypeError: t$/],
  [
    'setTimeout(() => { throw new TypeError("in a timer") }, 1); await new Promise(() => {})',
    'runtime_error',
    /^TypeError: in a timer$/,
  ],
  [
    'queueMicrotask(() => { throw new TypeError("in a microtask") }); await tools.slow()',
    'runtime_error',
    /^TypeError: in a microtask$/,
  ],
  ['function f() { f() } f()', 'runtime_error', /Maximum call stack size exceeded/],
  ['const f = async () => { await f() }; await f()', 'runtime_error', /Maximum call stack size exceeded/],
  ['function f() { tools.echo({ a: 1 }); f() } f()', 'runtime_error', /Maximum call stack size exceeded/],
  [
    'const o = { toString() { return new URL(o).href } }; new URL(o)',
    'runtime_error',
    /Maximum call stack size exceeded/,
  ],
  ['let x = (', 'runtime_error', /1:/],
  ['const a = 1;\nconst a = 2;', 'runtime_error', /2:/],
  ['`unterminated', 'runtime_error', /1:/],
  ['/* unterminated', 'runtime_error', /1:/],
  ['import x from "y"', 'runtime_error', /import/],
  ['export const a = 1', 'runtime_error', /export/],
  ['await import("node:fs")', 'runtime_error', /import/],
  ['\u0000\u0001\ufffd\x7fELF', 'runtime_error', /1:/],
  [`${'('.repeat(300_000)}`, 'runtime_error', /./],
  [`${'['.repeat(300_000)}${']'.repeat(300_000)}`, 'runtime_error', /./],
  ['ech0', 'runtime_error', /'?ech0'? is not defined.*Tools: tools\.echo/],
  ['await tool.echo(1)', 'runtime_error', /Did you mean tools\?/],
  ['await tools.ecko(1)', 'runtime_error', /tools has no tool ecko\. Did you mean tools\.echo\?/],
  ['await echo(1)', 'runtime_error', /Did you mean tools\.echo\?/],
  ['fetch("http://x")', 'runtime_error', /no network/],
  ['require("fs")', 'runtime_error', /No module/],
  ['10n', 'serialization_error', /result: bigint/],
  ['({ items: [0, 1, 2, { when: new Date() }] })', 'serialization_error', /result\.items\[3\]\.when: Date/],
  ['let o = {}; for (let i = 0; i < 1e5; i += 1) o = { o }; o', 'serialization_error', /nested deeper/],
  ['Array.from({ length: 300_000 }, () => 0)', 'serialization_error', /more than 262144 values/],
  ['const a = []; a.length = 2 ** 32 - 1; a', 'serialization_error', /more than/],
];

/** What never ends by itself. `killed` is what only the end of its shell ends. */
export const TIMEOUTS: readonly [what: string, code: string][] = [
  ['a busy loop', 'for (;;) {}'],
  ['a busy loop after an await', 'await tools.echo(1); for (;;) {}'],
  ['a busy loop in a timer', 'setTimeout(() => { for (;;) {} }, 1); await new Promise(() => {})'],
  ['an endless chain of microtasks', '(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})'],
  ['an endless loop of awaits', 'for (;;) await 0'],
  ['a promise that never settles', 'await new Promise(() => {})'],
  ['a tool that never settles', 'await tools.never()'],
  ['a loop that catches', 'for (;;) try { for (;;) {} } catch {}'],
  ['a finally that loops', 'try { for (;;) {} } finally { for (;;) {} }'],
  ['a loop that catches its tools', 'for (;;) try { await tools.fail() } catch {}'],
  ['a catastrophic regular expression', '/(a+)+$/.test("a".repeat(40) + "b")'],
  [
    'a hostile comparator',
    'Array.from({ length: 1e5 }, (_, i) => i).sort(() => { for (let i = 0; i < 1e5; i += 1); return 1 })',
  ],
  ['an interval', 'setInterval(() => {}, 1); await new Promise(() => {})'],
  ['a getter that loops', 'String({ get [Symbol.toPrimitive]() { for (;;) {} } })'],
  ['a stack hook that loops', 'Error.prepareStackTrace = () => { for (;;) {} }; await tools.fail()'],
  ['a generator without end', 'function* g() { for (;;) yield 1 } Math.max(...g())'],
];

export const KILLED: readonly [what: string, code: string][] = [
  ['a join of a huge array', 'new Array(3e8).join()'],
  ['a deep JSON.stringify', 'let o = {}; for (let i = 0; i < 1e5; i += 1) o = { o }; JSON.stringify(o)'],
  ['a search through a huge array', 'const a = new Array(4e9); a.indexOf(1)'],
];

/** What takes more memory than it may. */
export const MEMORY_HOGS: readonly [what: string, code: string][] = [
  ['a growing string', 'let s = "x"; for (;;) s += s'],
  ['one huge string', '"x".repeat(2 ** 29)'],
  ['many small objects', 'const a = []; for (;;) a.push({})'],
  ['a big array', 'new Array(1e8).fill(0)'],
  ['typed arrays', 'const a = []; for (;;) a.push(new Uint8Array(1e5))'],
  ['a map', 'const m = new Map(); for (let i = 0; ; i += 1) m.set(i, { i })'],
  ['closures', 'let f = () => 0; for (;;) { const g = f; f = () => g }'],
  ['a JSON text', 'JSON.stringify(Array.from({ length: 1e6 }, () => ({ a: 1 })))'],
  ['a growing string after an await', 'await tools.echo(1); let s = "x"; for (;;) s += s'],
  ['many small objects after an await', 'await 0; const a = []; for (;;) a.push({})'],
  ['typed arrays after an await', 'await tools.echo(1); const a = []; for (;;) a.push(new Uint8Array(1e5))'],
  [
    'a timer that hoards',
    'const a = []; setInterval(() => { for (let i = 0; i < 1e5; i += 1) a.push({}) }, 1); await new Promise(() => {})',
  ],
];

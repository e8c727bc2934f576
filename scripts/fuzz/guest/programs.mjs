// Programs whose outcome is known: the grammar of `code`.

/** `result` or `error` is what must come out; `answers` says that it depends on what the tools answered. */
export const PROGRAMS = [
  { code: '1 + 1', result: 2 },
  { code: '', result: undefined },
  { code: 'return { a: [1, null, "é", { b: false }], c: -0.5 }', result: { a: [1, null, 'é', { b: false }], c: -0.5 } },
  {
    code: 'console.log("a", 1); console.error({ b: [2] }); return "x".repeat(1000)',
    result: 'x'.repeat(1000),
    logs: ['a 1', '{"b":[2]}'],
  },
  { code: 'await new Promise((resolve) => setTimeout(resolve, 5)); "late"', result: 'late' },
  { code: 'const f = (n: number): number => n * 2; f(21)', result: 42 },
  { code: 'JSON.parse(\'{"__proto__":1}\')', result: JSON.parse('{"__proto__":1}') },
  { code: 'globalThis.leak = (globalThis.leak ?? 0) + 1; leak', result: 1 },
  { code: 'Array.prototype.map = null; Object.prototype.polluted = 1; [].map', result: null },
  { code: 'throw new Error("no")', error: ['runtime_error'] },
  { code: 'throw { code: "timeout", message: "Execution timed out" }', error: ['runtime_error'] },
  { code: 'const = 1', error: ['runtime_error'] },
  { code: 'import("node:fs")', error: ['runtime_error'] },
  { code: '(function f() { f() })()', error: ['runtime_error'] },
  { code: 'return 10n', error: ['serialization_error'] },
  { code: 'const a = {}; a.a = a; return a', error: ['serialization_error'] },
  { code: 'return new Map()', error: ['serialization_error'] },
  { code: 'for (;;) {}', error: ['timeout'], endless: true },
  { code: 'for (;;) try { null.x } catch {}', error: ['timeout'], endless: true },
  { code: 'await new Promise(() => {})', error: ['timeout'], endless: true },
  {
    code: '(function f() { Promise.resolve().then(f) })(); await new Promise(() => {})',
    error: ['timeout'],
    endless: true,
  },
  {
    code: 'const a = []; for (;;) a.push("x".repeat(1e5) + a.length)',
    error: ['memory_limit', 'timeout'],
    endless: true,
  },
  { code: 'for (let i = 0; i < 1e4; i += 1) console.log("line", i); 1', result: 1 },
  { code: 'return await tools.echo({ n: 0 })', calls: 1, answers: 'last' },
  {
    code: 'const all = []; for (let n = 0; n < 3; n += 1) all.push(await tools.echo({ n })); return all',
    calls: 3,
    answers: 'all',
  },
  { code: 'return await Promise.all([0, 1, 2].map((n) => tools.echo({ n })))', calls: 3, answers: 'all' },
  { code: 'tools.echo({ n: 0 }); return 5', calls: 1, result: 5 },
  {
    code: 'try { return await tools.echo({ n: 0 }) } catch (error) { return [error.code, error.message] }',
    calls: 1,
    answers: 'caught',
  },
  { code: 'return await tools.echo({ n: 10n })', error: ['serialization_error'] },
  { code: 'return await tools.nope({})', error: ['runtime_error'] },
  {
    code: 'return [typeof tools, typeof tools.constructor, typeof other.__proto__]',
    result: ['object', 'undefined', 'undefined'],
  },
];

const tool = (name) => ({ safeName: name, originalName: name });

export const PROVIDERS = [
  { name: 'tools', tools: { echo: tool('echo'), fail: tool('fail') }, types: 'declare namespace tools {}' },
  { name: 'other', tools: { 'key-of-no-meaning': { ...tool('one'), description: 'does */ one' } }, types: '' },
];

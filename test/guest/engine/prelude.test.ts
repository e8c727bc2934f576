import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GUEST_GLOBALS, RESERVED_WORDS } from '../../../src/capabilities/index.js';
import type { Executor } from '../../../src/guest/index.js';
import { createExecutor } from '../../../src/guest/index.js';

let executor: Executor;
beforeAll(() => {
  executor = createExecutor({ isolation: 'inline', size: 1 });
});
afterAll(() => executor.dispose());

async function value(code: string): Promise<unknown> {
  const result = await executor.execute(code);
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return result.result;
}
const thrown = (code: string) =>
  value(`try { ${code}; return 'nothing' } catch (e) { return e.name + ': ' + e.message }`);

/** ECMAScript of the engine, and then ours. */
const LANGUAGE =
  'AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DOMException DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Infinity Int16Array Int32Array Int8Array Iterator JSON Map Math NaN Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set String SuppressedError Symbol SyntaxError TypeError URIError Uint16Array Uint32Array Uint8Array Uint8ClampedArray WeakMap WeakRef WeakSet decodeURI decodeURIComponent encodeURI encodeURIComponent escape eval globalThis isFinite isNaN parseFloat parseInt undefined unescape';
const OURS =
  'TextDecoder TextEncoder URL URLSearchParams atob btoa clearInterval clearTimeout console crypto queueMicrotask setInterval setTimeout structuredClone';

describe('the globals of a guest', () => {
  it('are exactly these', async () => {
    expect(
      await value('Reflect.ownKeys(globalThis).map(String).filter((n) => !n.startsWith("Symbol(")).sort()'),
    ).toEqual(`${LANGUAGE} ${OURS}`.split(' ').sort());
  });

  it('are none of the names that a namespace may have', async () => {
    expect(
      `${LANGUAGE} ${OURS}`.split(' ').filter((name) => !GUEST_GLOBALS.has(name) && !RESERVED_WORDS.has(name)),
    ).toEqual([]);
  });

  it('are not enumerable, so that a guest sees its tools alone', async () => {
    expect(await value('Object.keys(globalThis)')).toEqual([]);
  });
});

describe('timers', () => {
  it('fire in order, with their arguments', async () => {
    const code = `
      const seen = [];
      await new Promise((resolve) => {
        setTimeout((...args) => { seen.push(args.join()); resolve() }, 20, 'a', 'b');
        setTimeout(() => seen.push('first'));
        queueMicrotask(() => seen.push('microtask'));
      });
      seen`;
    expect(await value(code)).toEqual(['microtask', 'first', 'a,b']);
  });

  it('repeat until they are cleared, from inside too', async () => {
    const code = `
      let n = 0;
      await new Promise((resolve) => { const id = setInterval(() => { n += 1; if (n === 3) { clearInterval(id); resolve() } }, 1) });
      await new Promise((resolve) => setTimeout(resolve, 10));
      n`;
    expect(await value(code)).toBe(3);
  });

  it('do not fire when they are cleared, and clearing nonsense does nothing', async () => {
    const code = `
      let fired = false;
      clearTimeout(setTimeout(() => { fired = true }, 1));
      for (const id of [undefined, null, -1, 1e9, 'x', {}, NaN]) { clearTimeout(id); clearInterval(id) }
      await new Promise((resolve) => setTimeout(resolve, 10));
      fired`;
    expect(await value(code)).toBe(false);
  });

  it('die with the run', async () => {
    const result = await executor.execute('setInterval(() => console.log("late"), 1); "ended"');
    await new Promise((resolve) => setTimeout(resolve, 15));
    expect(result).toMatchObject({ ok: true, result: 'ended', logs: [] });
    expect(await value('1')).toBe(1);
  });

  it('take odd delays as none, and refuse what is no function', async () => {
    expect(
      await value(
        'await new Promise((r) => setTimeout(r, NaN)); await new Promise((r) => setTimeout(r, -5)); await new Promise((r) => setTimeout(r, 1e12)); 1',
      ),
    ).toBe(1);
    expect(await thrown('setTimeout("code")')).toMatch(/^TypeError: .*function/);
  });

  it('are limited in number', async () => {
    expect(await thrown('for (let i = 0; i < 20_000; i += 1) setTimeout(() => {}, 1e6)')).toMatch(
      /^RangeError: Too many timers/,
    );
  });
});

describe('URL and URLSearchParams', () => {
  const CASES: readonly [code: string, value: unknown][] = [
    ['new URL("../c?d=1#e", "https://u:p@a.b:8080/x/y").href', 'https://u:p@a.b:8080/c?d=1#e'],
    [
      'const { protocol, host, hostname, port, pathname, search, hash, origin, username, password } = new URL("https://u:p@a.b:81/c?d#e"); [protocol, host, hostname, port, pathname, search, hash, origin, username, password]',
      ['https:', 'a.b:81', 'a.b', '81', '/c', '?d', '#e', 'https://a.b:81', 'u', 'p'],
    ],
    [
      'const u = new URL("http://a/b"); u.pathname = "/c d"; u.search = "x=1"; u.hash = "h"; u.port = "81"; String(u)',
      'http://a:81/c%20d?x=1#h',
    ],
    [
      'const u = new URL("http://a/?x=1"); u.searchParams.append("y", "2 3"); u.searchParams.delete("x"); u.href',
      'http://a/?y=2+3',
    ],
    [
      'const u = new URL("http://a/?x=1"); const p = u.searchParams; u.search = "?z=9"; [p.get("z"), p.get("x"), p === u.searchParams]',
      ['9', null, true],
    ],
    ['JSON.stringify({ u: new URL("http://a") })', '{"u":"http://a/"}'],
    ['[URL.canParse("nonsense"), URL.canParse("b", "http://a")]', [false, true]],
    ['new URL("http://ünï.example/").hostname', 'xn--n-nga1b.example'],
    ['Object.prototype.toString.call(new URL("http://a"))', '[object URL]'],
    [
      'const p = new URLSearchParams("?a=1&b=2&a=3"); [p.get("a"), p.getAll("a"), p.has("b"), p.has("a", "3"), p.size, p.get("no")]',
      ['1', ['1', '3'], true, true, 3, null],
    ],
    [
      'const p = new URLSearchParams({ b: 2, a: "é&" }); p.sort(); p.set("c", null); String(p)',
      'a=%C3%A9%26&b=2&c=null',
    ],
    [
      '[...new URLSearchParams([["a", "1"], ["b", "2"]])]',
      [
        ['a', '1'],
        ['b', '2'],
      ],
    ],
    [
      'const p = new URLSearchParams("a=1&b=2"); const seen = []; p.forEach((v, k) => seen.push(k + v)); [...p.keys(), ...p.values(), ...seen]',
      ['a', 'b', '1', '2', 'a1', 'b2'],
    ],
    ['String(new URLSearchParams(new URLSearchParams("a=1")))', 'a=1'],
    ['const p = new URLSearchParams("a=1&a=2&b=3"); p.delete("a", "1"); p.set("b", 4); String(p)', 'a=2&b=4'],
  ];
  for (const [code, expected] of CASES) it(code, async () => expect(await value(code)).toEqual(expected));

  it('refuse what is none', async () => {
    expect(await thrown('new URL("nonsense")')).toBe('TypeError: Invalid URL');
    expect(await thrown('new URLSearchParams([["a"]])')).toMatch(/^TypeError/);
    expect(await thrown('URL("http://a")')).toMatch(/^TypeError/);
  });
});

describe('the other globals', () => {
  const CASES: readonly [code: string, value: unknown][] = [
    ['[...new TextEncoder().encode("é😀")]', [195, 169, 240, 159, 152, 128]],
    ['new TextDecoder().decode(new Uint8Array([195, 169, 240, 159, 152, 128]))', 'é😀'],
    ['new TextDecoder().decode(new Uint8Array([255]))', '\ufffd'],
    ['btoa("hello") + atob("aGVsbG8=")', 'aGVsbG8=hello'],
    [
      'const o = { d: new Date(0), m: new Map([[1, { a: 1 }]]) }; o.self = o; const c = structuredClone(o); [c !== o, c.self === c, c.d.getTime(), c.m.get(1).a]',
      [true, true, 0, 1],
    ],
    [
      'const a = crypto.getRandomValues(new Uint32Array(4)); [a.length, a instanceof Uint32Array, a.some((n) => n > 0)]',
      [4, true, true],
    ],
    [
      'const ids = new Set(Array.from({ length: 50 }, () => crypto.randomUUID())); [ids.size, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test([...ids][0])]',
      [50, true],
    ],
    [
      'const b = new Uint8Array(8); crypto.getRandomValues(b.subarray(2, 4)); [...b.subarray(0, 2), ...b.subarray(4)].every((n) => n === 0)',
      true,
    ],
    [
      'const seen = new Set(Array.from({ length: 100 }, Math.random)); [seen.size, [...seen].every((n) => n >= 0 && n < 1)]',
      [100, true],
    ],
    ['new Date(2020, 0, 1).toISOString()', '2020-01-01T00:00:00.000Z'],
    ['Math.abs(Date.now() - new Date().getTime()) < 1000', true],
    ['[typeof console.debug, typeof console.trace]', ['function', 'function']],
    ['const { log } = console; log("bare"); 1', 1],
  ];
  for (const [code, expected] of CASES) it(code, async () => expect(await value(code)).toEqual(expected));

  it('refuse what they cannot do', async () => {
    expect(await thrown('crypto.getRandomValues(new Uint8Array(65_537))')).toMatch(/^RangeError/);
    expect(await thrown('crypto.getRandomValues(new Float64Array(1))')).toMatch(/^TypeError/);
    expect(await thrown('crypto.getRandomValues({})')).toMatch(/^TypeError/);
    expect(await thrown('structuredClone(() => 1)')).toMatch(/^DataCloneError/);
    expect(await thrown('atob("*")')).not.toBe('nothing');
    expect(await thrown('btoa("😀")')).not.toBe('nothing');
    expect(await thrown('setTimeout.constructor("return process")()')).toMatch(/^ReferenceError/);
  });
});

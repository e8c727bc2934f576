// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the programs under test hold templates.
import { describe, expect, it } from 'vitest';
import { DEFAULT_MAX_CODE_DEPTH } from '../../../src/guest/limits.js';
import { prepareSource } from '../../../src/guest/source/index.js';
import { parseJavaScript } from '../../../src/guest/source/parser.js';
import { stripTypes } from '../../../src/guest/source/strip-types.js';
import { parseTypeScript } from '../../../src/guest/source/typescript.js';
import { resultOf } from './engine.js';

const breaks = (text: string) => [...text.matchAll(/[\n\r\u2028\u2029]/g)].map((match) => [match.index, match[0]]);

const CORPUS: [string, unknown][] = [
  ['const x: number = 1; x', 1],
  ['let x: number | undefined\nx = 2\nx', 2],
  ['let x!: number; x = 2; x', 2],
  ['const f = (a: number, b?: string): number => a; f(3)', 3],
  ['function f(a: number, b?: string, ...c: any[]): number { return a } f(3)', 3],
  ['async function main(): Promise<number> { return 7 }', 7],
  ['async (): Promise<number> => 7', 7],
  ['function id<T>(a: T): T { return a } id<number>(4)', 4],
  ['const id = <T,>(a: T): T => a; id<number>(4)', 4],
  ['const id = async <T extends object>(a: T): Promise<T> => a; await id({ a: 1 })', { a: 1 }],
  ['const id = (a) => a; id<number>(4)', 4],
  ['const id = (a) => a; id<Array<Map<string, number>>>(4)', 4],
  ['const o = { id: (a) => a }; o?.id<number>(4)', 4],
  ['const o = { id: (a) => a }; o.id?.<number>(4)', 4],
  ['new Map<string, number>([["a", 1]]).get("a")', 1],
  ['new Set<number>().size', 0],
  ['const x = 1 as any as number; x', 1],
  ['const x = { a: 1 } as const; x', { a: 1 }],
  ['const x = { a: 1 } satisfies object; x.a', 1],
  ['const x = <number>1; x', 1],
  ['const o: any = { a: { b: 1 } }; o!.a!.b!', 1],
  ['(1 as any)', 1],
  ['((1) as number) + 1', 2],
  ['let a: any = 1; (a as number) = 2; a', 2],
  ['let a: any; [a!] = [3]; a', 3],
  ['let a: any; ({ b: a as any } = { b: 3 }); a', 3],
  ['interface A { a: number }\nconst x: A = { a: 1 }; x', { a: 1 }],
  ['type A = { a: number };\n5', 5],
  ['5\ntype A = { a: number }', 5],
  ['5\ninterface A { a: number }', 5],
  ['let n = 1\ntype A = number\n;[n] = [2]\nn', 2],
  ['let n = 0; const f = () => { n++ }\nf()\ninterface A {}\n(n)', 1],
  ['let n = 0; const f = () => { n++ }\nf\ntype A = number\n(n)', 0],
  ['const a = [1, 2]\nlet b = a as number[]\n;[1].length\nb', [1, 2]],
  ['const a = [7, 8]\nconst b = a as any\n[0].length\nb', [7, 8]],
  ['const a = 4\nconst b = a satisfies number\n(0)\nb', 4],
  ['let x = 1\nlet y: number\n[x] = [5]\nx', 5],
  ['declare const tools: any; typeof tools', 'undefined'],
  ['declare function f(): void\n6', 6],
  ['declare class A { x: number }\n6', 6],
  ['declare module "x" { export const a: number }\n6', 6],
  ['declare global { interface Window {} }\n6', 6],
  ['declare enum E { A }\n6', 6],
  ['namespace N { export interface A {} }\n6', 6],
  ['function f(a: number): number;\nfunction f(a: string): string;\nfunction f(a: any) { return a }\nf(2)', 2],
  ['class A<T> { constructor(public_: T) {} m<U>(u: U): U { return u } } new A<number>(1).m<string>("s")', 's'],
  [
    'class A { private x: number = 1; protected readonly y = 2; public static z?: number = 3; get s(): number { return this.x + this.y } }\nnew A().s + A.z',
    6,
  ],
  [
    'abstract class A { abstract m(): void; abstract x: number; n() { return 1 } }\nclass B extends A { override n(): number { return super.n() + 1 } }\nnew B().n()',
    2,
  ],
  ['interface I {} interface J<T> {}\nclass A implements I, J<number> { x = 1 }\nnew A().x', 1],
  ['class B<T> { v = 1 }\nclass A<T> extends B<T> implements Object { }\nnew A().v', 1],
  ['class A { declare x: number; y = 1 }\nObject.keys(new A())', ['y']],
  ['class A { [key: string]: any; y = 1 }\nnew A().y', 1],
  ['class A { x!: number; y?: string; z = 1 }\nObject.keys(new A())', ['x', 'y', 'z']],
  ['const k = "q"; class A { x = 1\n readonly [k] = 2 }\nnew A().q', 2],
  ['class A { x = 1\n public *g() { yield 2 } }\n[...new A().g()]', [2]],
  ['class A { get;\n private x() { return 1 } }\nnew A().x()', 1],
  ['const id = (a) => a; id<Array<Map>>(4)', 4],
  ['const id = (a) => a; id<string, number>(4)', 4],
  ['const k = "q"; class A { x = [7] as any\n [k] = 2 }\nnew A()["q"]', 2],
  ['class A { m(): void; m(a?: any): any { return 3 } }\nnew A().m()', 3],
  ['class A { m?(): void; n() { return 1 } }\nnew A().n()', 1],
  [
    'class A { private async m(): Promise<number> { return 1 } static readonly #p: number = 2; static p() { return A.#p } }\nA.p()',
    2,
  ],
  ['function f(this: any, a: number) { return a } f(1)', 1],
  ['function f(this: any) { return 2 } f()', 2],
  ['function f(this: any,) { return 2 } f()', 2],
  ['const o = { m<T>(this: any, a: T): T { return a }, get g(): number { return 1 } }; o.m(5)', 5],
  ['try { throw 1 } catch (e: unknown) { return e as number }', 1],
  ['let n = 0; for (const x of [1, 2] as number[]) n += x; n', 3],
  ['for (var i = 0 as number; i < 3; i++) if (i === 2) return i', 2],
  ['for (var o: any of [4]) return o', 4],
  ['if (false) 1 as any; else 2 as any\n(3)', 3],
  ['export default interface A {}\n5', 5],
  ['for (let i: number = 0; i < 3; i++) if (i === 2) return i', 2],
  ['const { a, b }: { a: number; b?: string } = { a: 1 }; a', 1],
  ['const f = ({ a }: { a: number }, [b]: number[] = [2]) => a + b; f({ a: 1 })', 3],
  ['const isS = (x: unknown): x is string => typeof x === "string"; isS("a")', true],
  ['function a(x: unknown): asserts x is string {} a(1); 3', 3],
  ['function a(x: unknown): asserts x {} a(1); 3', 3],
  ['const f = (a: number): {\n  b: number\n} => ({ b: a }); f(1)', { b: 1 }],
  ['const f = async <\n  T,\n  U,\n>(a: T): Promise<T> => a; await f(1)', 1],
  ['function g() { return <\nT,>(a: T) => a } g()(4)', 4],
  ['import type { A } from "a"; 5', 5],
  ['import { type A, type B } from "a"; 5', 5],
  ['export type A = number; 5', 5],
  ['export interface A {} 5', 5],
  ['export type { A } from "a"; 5', 5],
  [
    'type A<T> = T extends (infer U)[] ? U : never; type B = keyof typeof x; type C = `a${string}`; const x = 1 as const; x',
    1,
  ],
  ['type M = { readonly [K in "a" | "b"]?: number }; const m: M = {}; m', {}],
  ['const t: [a: number, b?: string, ...c: any[]] = [1]; t', [1]],
  ['const f: (a: number) => void = () => {}; const g: new () => object = Object; 1', 1],
  ['const f = ((a) => a)<number>; f(2)', 2],
  ['const é: number = 1; const 变量: string = "ü"; é + 变量', '1ü'],
  ['const a: number = 1 /* as */ as /* any */ any; a // : number', 1],
  ['const s: string = "x as any: number"; const t = `a${s as string}!`; t', 'xx as any: number!'.replace(/^x/, 'a')],
  ['const x: number = true ? (1 as number) : 2; x', 1],
  ['let a: any = 1; a! += 1; a', 2],
  ['enum_()\nfunction enum_(): number { return 1 }', 1],
  ['const x = await (Promise.resolve(1) as Promise<number>); x', 1],
  ['const a: unique symbol = Symbol(); typeof a', 'symbol'],
  ['const x: number = 1;\r\nconst y: {\r\n  a: 1\r\n} = { a: 1 };\r\ny', { a: 1 }],
  ['const tag = (s: any) => s[0]; tag<string>`a`', 'a'],
  ['let type = 1, as = 2, declare = 3, abstract = 4; let q: number = type + as + declare + abstract; q', 10],
  ['() => { const x: number = 1; return x }', 1],
  ['(a?: number): number => 7', 7],
  ['const f = (a?: number, b = 2 as number) => b; f()', 2],
];

describe('stripping types', () => {
  it.each(CORPUS)('of %j keeps every position and gives %j', async (source, value) => {
    const stripped = stripTypes(source, parseTypeScript(source, DEFAULT_MAX_CODE_DEPTH));
    if (!stripped.ok) throw new Error(stripped.message);
    expect(stripped.code).toHaveLength(source.length);
    expect(breaks(stripped.code)).toEqual(breaks(source));
    expect(() => parseJavaScript(stripped.code, DEFAULT_MAX_CODE_DEPTH)).not.toThrow();
    expect(prepareSource(source)).toMatchObject({ ok: true, typescript: true });
    expect(await resultOf(source)).toEqual(value);
  });

  it.each<[string, string, number]>([
    ['1; enum A { B }', '`enum`', 4],
    ['const enum A { B }', '`enum`', 1],
    ['namespace N { export const a = 1 }', '`namespace`', 1],
    ['class A { constructor(private x: number) {} }', 'parameter property', 23],
    ['class A { constructor(readonly x: number) {} }', 'parameter property', 23],
    ['import fs = require("fs")', '`import x = …`', 1],
    ['@d class A {}', 'decorators', 1],
    ['class A { @d x: number = 1 }', 'decorators', 11],
    ['const f = () => <any>{ a: 1 }', 'type assertion', 11],
    ['return <\nany>1', 'type assertion', 8],
    ['let x: number; export const y = 1', 'export is not available', 16],
    ['let x: number; await import("fs")', 'import() of "fs"', 22],
  ])('of %j is refused by name', (source, words, column) => {
    expect(prepareSource(source)).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining(words), column },
    });
  });

  it.each<[string, unknown]>([
    ['const n = 3, number = 5, c = 1; [n < number >> (c), n < number && c > (0)]', [false, true]],
    ['const a = 9, b = 2, k = 1; [a < b, a > (b), a >> (k)]', [false, true, 4]],
  ])('leaves the comparisons of %j alone', async (source, value) => {
    expect(await resultOf(source)).toEqual(value);
  });

  it('is not done to a program that is JavaScript already', () => {
    expect(prepareSource('const a = b < c; a')).toMatchObject({ ok: true, typescript: false });
  });

  it('survives assertions chained a thousand times', () => {
    expect(prepareSource(`let x: any = 1${' as any'.repeat(1000)}; x`).ok).toBe(true);
  });
});

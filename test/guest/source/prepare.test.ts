// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the programs under test hold templates.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DEFAULT_MAX_CODE_BYTES } from '../../../src/guest/limits.js';
import { prepareSource } from '../../../src/guest/source/index.js';
import { cpuMs } from '../../cpu-time.js';
import { createEngine, resultOf, runScript } from './engine.js';

function refusal(source: string) {
  const prepared = prepareSource(source);
  if (prepared.ok) throw new Error(`accepted: ${prepared.script}`);
  return prepared.error;
}

describe('the value of a program', () => {
  it.each<[string, unknown]>([
    ['1 + 1', 2],
    ['1 + 1;', 2],
    ['1 + 1;;', 2],
    ['1 + 1 // note', 2],
    ['1 + 1 /* note */ ;', 2],
    ['1 + 1 // note\n;', 2],
    ['1 // a\n + 1', 2],
    ['const x = await Promise.resolve({ a: 3 }); x.a', 3],
    ['return 5', 5],
    ['if (false) return 1; 5', 5],
    ['if (true) return 1; 5', 1],
    ['async () => 7', 7],
    ['async () => 7;', 7],
    ['(async () => 7)', 7],
    ['((async () => 7));', 7],
    ['() => 7', 7],
    ['() => 7 // seven', 7],
    ['() => ({ a: 1 })', { a: 1 }],
    ['(function () { return 7 })', 7],
    ['(async function main() { return 7 })', 7],
    ['async function main() { return await 7 }', 7],
    ['function main() { return 7 }', 7],
    ['function main() { return 7 } // last', 7],
    ['function m\\u0061in() { return 7 }', 7],
    ['function main(a = 7) { return a };', 7],
    ["'use strict'; async () => 7", 7],
    ["'use strict'; function main() { return this === undefined }", true],
    ['(async () => 7)()', 7],
    ['Promise.resolve(4)', 4],
    ['({ then(resolve) { resolve(4) } })', 4],
    ['return { then(resolve) { resolve(4) } }', 4],
    ['const x = 1', undefined],
    ['1; for (const a of [1]) a', undefined],
    ['1; if (true) 5', undefined],
    ['1; class A {}', undefined],
    ['1; { 5 }', undefined],
    ['{ a: 1 }', undefined],
    ['1; var b = 2', undefined],
    ['', undefined],
    ['  \n ', undefined],
    ['// nothing', undefined],
    ['/* nothing */', undefined],
    [';', undefined],
    ["'use strict'", 'use strict'],
    ['"use strict";', 'use strict'],
    ["'use strict'; (function () { return this === undefined })()", true],
    ["'use strict'\nconst f = function () { return this === undefined }\nf()", true],
    ['(function () { return this === globalThis })()', true],
    ['await main()\nasync function main() { return 7 }', 7],
    ['1, 2', 2],
    ['let a = 1\n++a', 2],
    ['let a = 1, b = 2\n;[a, b] = [b, a]\na', 2],
    ['do ; while (false) 5', 5],
    ['{} 5', 5],
    ['`a${`b${1}`}`', 'ab1'],
    ['/[}`]/.test("}")', true],
    ['arguments.length', 0],
    ['typeof arguments', 'object'],
    ['new.target', undefined],
    ['010', 8],
    ['with ({ a: 1 }) return a', 1],
    ['function f() { var await = 1; return await } f()', 1],
    ['var yield_ = 1; yield_', 1],
    ['var yield = 1; yield', 1],
    ['let n = 0; for await (const x of [1, Promise.resolve(2)]) n += x; n', 3],
    ['using x = { [Symbol.dispose]() {} }; 5', 5],
    ['try { throw 1 } catch (e) { var e = 2 } 5', 5],
    ['var a; var a; function a() {} 5', 5],
    ['let a = 1; { let a = 2; { var b = a } } b', 2],
    ['function g() { return 1 } function g() { return 2 } g()', 2],
    ['#!/usr/bin/env node\n5', 5],
    ['<!-- old\n5', 5],
    ['--> old\n5', 5],
    ['let x = 3\nx\n--> 0\nx', 3],
    ['5 <!-- old', 5],
    ['/*\n*/ --> old\n5', 5],
    ['\ufeff5', 5],
    ['"\u2028\u2029".length', 2],
    ['let a = 1\u2028a', 1],
    ['5 // a\u2028', 5],
    ['1 < 2', true],
    ['const a = 1, b = 2, c = 0; (a < b) > (c)', true],
  ])('of %j is %j', async (source, value) => {
    expect(await resultOf(source)).toEqual(value);
  });

  it.each(['const f = () => 7; f', '1; () => 7', 'function* main() {}; 1; (function* () {})'])(
    'is the function itself where %j has more than that function',
    async (source) => {
      const prepared = prepareSource(source.replace(/[^;]*$/, (last) => `return typeof (${last})`));
      expect(prepared.ok && (await runScript(prepared.script))).toEqual({ value: 'function' });
      expect(prepareSource(source)).toMatchObject({ ok: true, script: expect.not.stringContaining(')()') });
    },
  );

  it.each(['(function* () {})', '(class {})', '(async function* () {})'])(
    'is not the result of calling %j',
    (source) => {
      expect(prepareSource(source)).toMatchObject({
        ok: true,
        script: expect.stringContaining(`return (${source})\n`),
      });
    },
  );

  it('is not called for a generator or a class declaration', async () => {
    expect(await resultOf('function* main() {}')).toBeUndefined();
    expect(await resultOf('class Main {}')).toBeUndefined();
  });

  it('is computed only when the function is called', async () => {
    const vm = await createEngine();
    const prepared = prepareSource('globalThis.ran = true; 1');
    if (!prepared.ok) throw new Error(prepared.error.message);
    expect(vm.typeof(vm.evalCode(prepared.script))).toBe('function');
    expect(vm.dump(vm.evalCode('typeof ran'))).toBe('undefined');
    vm.dispose();
  });

  it('follows from the last statement, whatever stands before it', async () => {
    const before = fc.constantFrom(
      'const a = 1',
      'let s = `}`',
      'function f() { return 1 }',
      '// } comment',
      '/* ) */',
      'if (true) { }',
      'for (const x of [1]) ;',
      'class A { x = 1 }',
      '"directive"',
      'await 0',
      'label: { break label }',
      'var r = /[)}]/',
      ';',
      '(1, 2)',
      'x => x',
      '<!-- html',
    );
    const last = fc.constantFrom<[string, unknown]>(
      ['41 + 1', 42],
      ['[1].map((x) => x + 1)', [2]],
      ['({ a: 1 })', { a: 1 }],
      ['`t`', 't'],
      ['await Promise.resolve(3)', 3],
      ['return 9', 9],
      ['const z = 1', undefined],
      ['if (true) 3', undefined],
    );
    const tail = fc.constantFrom('', ';', ' // end', ' /* end */', '\n', ';\n\n// end', '\n;');
    const separator = fc.constantFrom(';\n', ';\r\n', ';\u2028');
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(before, { maxLength: 6 }),
        last,
        tail,
        separator,
        async (head, [code, value], end, gap) => {
          const source = `${head.map((part) => (/^(\/\/|<!--)/.test(part) ? `${part}\n` : part + gap)).join('')}${code}${end}`;
          expect(await resultOf(source)).toEqual(value);
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe('a Markdown fence', () => {
  it.each(['js', 'ts', 'javascript', 'typescript', 'tsx', '', ' js ', 'js title="a"'])(
    'with %j is taken off',
    async (info) => {
      expect(await resultOf(`\`\`\`${info}\n1 + 1\n\`\`\``)).toBe(2);
      expect(await resultOf(`\n\n \`\`\`${info}\r\n1 + 1\r\n \`\`\` \r\n\r\n`)).toBe(2);
    },
  );

  it('may be longer, or of tildes', async () => {
    expect(await resultOf('````js\n1 + 1\n````')).toBe(2);
    expect(await resultOf('~~~\n1 + 1\n~~~')).toBe(2);
    expect(await resultOf('```\n```')).toBe(undefined);
  });

  it('leaves the lines their numbers', () => {
    expect(refusal('\n```js\nlet a = 1;\nlet b = ;\n```')).toMatchObject({ line: 4, column: 9 });
  });

  it('is refused when there are two', () => {
    expect(refusal('```js\n1\n```\nand\n```js\n2\n```')).toMatchObject({
      line: 3,
      message: expect.stringContaining('more than one Markdown block'),
    });
  });

  it('is named as the cause when there is prose around it', () => {
    expect(refusal('Here is the code:\n```js\n1\n```\n').message).toContain('without Markdown');
  });
});

describe('a refusal', () => {
  it.each<[string, number, number, string]>([
    ['let x = ;', 1, 9, "SyntaxError: Unexpected token ';' (1:9)"],
    ['\n\nfoo(]', 3, 5, "Unexpected token ']' (3:5)"],
    ['a\r\nb c', 2, 3, "Unexpected token 'c'"],
    ['a\u2028b c', 2, 3, "Unexpected token 'c'"],
    ['{"a": 1}', 1, 5, 'parentheses around an object'],
    ['foo(', 1, 5, 'Unexpected end of the program'],
    ['"abc', 1, 1, 'Unterminated string'],
    ['let a;\nlet a;', 2, 5, "Identifier 'a' has already been declared"],
    ['let a; { var a }', 1, 14, "Identifier 'a' has already been declared"],
    ['function f(a) { let a }', 1, 21, 'already been declared'],
    ['try {} catch (e) { let e }', 1, 24, 'already been declared'],
    ['try {} catch ([e]) { var e }', 1, 26, 'already been declared'],
    ['{ function f() {} var f }', 1, 23, 'already been declared'],
    ['"use strict"; with (a) {}', 1, 15, 'strict mode'],
    ['var await', 1, 5, 'await'],
    ['() => { await 1 }', 1, 15, 'Unexpected token'],
    ['let x: number = 1;\nlet y: = 2;', 2, 8, 'Unexpected token'],
    ['const a: string = 1;\nconst a: string = 2;', 2, 7, 'already been declared'],
    ["import x from 'y'", 1, 1, 'import of "y" is not available'],
    ["import 'y'", 1, 1, 'import of "y" is not available'],
    ["1;\n  import { a } from 'node:fs'", 2, 3, 'import of "node:fs" is not available'],
    ['export const a = 1', 1, 1, 'export is not available'],
    ['export default async () => 1', 1, 1, 'export is not available'],
    ["export * from 'a'", 1, 1, 'export is not available'],
    ["await import('node:fs')", 1, 7, 'import() of "node:fs" is not available'],
    ['const f = () => { return import(x) }', 1, 26, 'import() is not available'],
    ['import.meta.url', 1, 1, 'import.meta is not available'],
    ["import('data:text/javascript,1'); import a from 'b'", 1, 1, 'import() of "data:'],
    ["import a from 'b'; const c: number = 1", 1, 1, 'import of "b" is not available'],
  ])('of %j points at line %i, column %i', (source, line, column, words) => {
    const error = refusal(source);
    expect(error.message).toContain(words);
    expect(error.message).toContain(`(${line}:${column})`);
    expect(error).toMatchObject({ line, column });
  });

  it('does not take a word in a string or a property for an import', async () => {
    expect(await resultOf('const o = { import: 1, export: 2 }; "import(x)" + o.import + o.export')).toBe('import(x)12');
  });

  it.each([
    '}); process.exit(1); (async()=>{',
    '})\n;(async function () {',
    '} finally {',
    '1) ; (2',
    '1))()((',
    '`',
    '`${',
    '`${`}`',
    '/*',
    '/* \n',
    '/',
    '/[/',
    '"',
    "'\\",
    '}',
    '{',
    ')',
    '<!-- \n})(',
    '1 */ + /*',
    '\u2028})',
    'return (1',
    'class A { #a; ',
    '() => 1)(); (() => 2',
    '\\u007d)',
    'super()',
    'super.x',
    'yield 1',
  ])('meets %j, which tries to leave the wrapper', (source) => {
    expect(refusal(source).message).toContain('SyntaxError');
  });

  it('meets every string that is no program, and nothing throws', async () => {
    const vm = await createEngine();
    const fragment = fc.constantFrom(
      '(',
      ')',
      '{',
      '}',
      '`',
      '${',
      '/*',
      '*/',
      '//',
      '\n',
      ';',
      "'",
      '"',
      '<',
      '>',
      'a',
      '1',
      '=>',
      ':',
      '?',
      '!',
      'as ',
      'await ',
      'return ',
      'async ',
      'function ',
      'class ',
      '<!--',
      '-->',
      '[',
      ']',
      ',',
      '.',
      '...',
      '=',
      'let ',
      'type ',
      'interface ',
      '\u2028',
      '\\',
      '/',
      '@',
      '#',
      'import ',
      'enum ',
      'abstract ',
      'declare ',
    );
    const garbage = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(fragment, { maxLength: 25 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(garbage, (source) => {
        const prepared = prepareSource(source);
        if (!prepared.ok) {
          expect(prepared.error.line).toBeGreaterThanOrEqual(1);
          expect(prepared.error.message).not.toBe('');
          return;
        }
        // What is accepted yields one function to the engine or is refused there; it never runs by being evaluated.
        try {
          const program = vm.evalCode(prepared.script);
          expect(vm.typeof(program)).toBe('function');
          program.dispose();
        } catch (error) {
          expect(error).toMatchObject({ name: 'SyntaxError' });
        }
      }),
      { numRuns: 4000 },
    );
    vm.dispose();
  });
});

describe('limits', () => {
  const nest = {
    parentheses: (n: number) => `${'('.repeat(n)}1${')'.repeat(n)}`,
    arrays: (n: number) => '['.repeat(n) + ']'.repeat(n),
    objects: (n: number) => `x=${'{a:'.repeat(n)}1${'}'.repeat(n)}`,
    blocks: (n: number) => '{'.repeat(n) + '}'.repeat(n),
    conditionals: (n: number) => `${'1?2:'.repeat(n)}3`,
    templates: (n: number) => `${'`${'.repeat(n)}1${'}`'.repeat(n)}`,
    functions: (n: number) => 'function f(){'.repeat(n) + '}'.repeat(n),
    expressions: (n: number) => '(function(){'.repeat(n) + '})'.repeat(n),
    arrows: (n: number) => `${'a=>'.repeat(n)}1`,
    wrappedArrows: (n: number) => `${'(()=>'.repeat(n)}1${')'.repeat(n)}`,
    negations: (n: number) => `${'!'.repeat(n)}1`,
    news: (n: number) => `${'new '.repeat(n)}a`,
    classes: (n: number) => `x=${'class extends '.repeat(n)}Object${'{}'.repeat(n)}`,
    patterns: (n: number) => `var ${'['.repeat(n)}a${']'.repeat(n)}=[]`,
    elses: (n: number) => `${'if(0);else '.repeat(n)};`,
    assignments: (n: number) => `${'a='.repeat(n)}1`,
    methods: (n: number) => `x=${'{m(){return '.repeat(n)}1${'}}'.repeat(n)}`,
    fields: (n: number) => `x=${'class{a='.repeat(n)}1${'}'.repeat(n)}`,
    calls: (n: number) => `${'f('.repeat(n)}1${')'.repeat(n)}`,
    generics: (n: number) => `let x: ${'A<'.repeat(n)}B${'>'.repeat(n)}`,
    powers: (n: number) => `${'2**'.repeat(n)}1`,
    asyncs: (n: number) => `${'(async()=>{'.repeat(n)}${'})'.repeat(n)}`,
    loops: (n: number) => `${'for(const a of[]){let b;'.repeat(n)}${'}'.repeat(n)}`,
    tries: (n: number) => `${'try{'.repeat(n)}${'}finally{}'.repeat(n)}`,
  };

  it.each(Object.entries(nest))('refuse %s nested without end, in little time', (_, build) => {
    expect(refusal(build(20_000)).message).toContain('nested too deeply');
  });

  it.each(Object.entries(nest))('let through only %s that the engine can compile', async (_, build) => {
    let low = 1;
    let high = 20_000;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (prepareSource(build(middle)).ok) low = middle;
      else high = middle;
    }
    expect(low).toBeGreaterThan(100);
    const prepared = prepareSource(build(low));
    const vm = await createEngine();
    expect(prepared.ok && vm.typeof(vm.evalCode(prepared.script))).toBe('function');
  });

  it('refuse a million parentheses', () => {
    expect(refusal('('.repeat(1_000_000)).message).toContain('nested too deeply');
  });

  it('accept a source of exactly the largest size, measured in UTF-8', () => {
    const source = `"${'é'.repeat((DEFAULT_MAX_CODE_BYTES - 2) / 2)}"`;
    expect(prepareSource(source).ok).toBe(true);
    expect(refusal(`${source} `).message).toContain('larger than 1048576 bytes');
    expect(refusal('x'.repeat(50_000_000)).message).toContain('larger than');
    expect(prepareSource('12345', { maxBytes: 4 }).ok).toBe(false);
    expect(prepareSource('((1))', { maxDepth: 5 }).ok).toBe(false);
  });

  it.each<[string, (index: number) => string]>([
    ['statements', () => 'f();'],
    ['declarations', (index) => `let a${index};`],
    ['variables', (index) => `var a${index};`],
    ['functions', (index) => `function a${index}(){}`],
    ['comparisons', () => 'a<a>1;'],
    ['lines', () => '\n'],
  ])('let a MiB of %s through in seconds', { timeout: 120_000 }, (_, part) => {
    let source = '';
    for (let index = 0; source.length < DEFAULT_MAX_CODE_BYTES - 30; index++) source += part(index);
    const started = cpuMs();
    expect(prepareSource(source).ok).toBe(true);
    expect(cpuMs() - started).toBeLessThan(60_000);
  });

  it('stop a parse that goes back and forth without end', () => {
    const source = `let x: any; ${'(<T>'.repeat(40)}1${')'.repeat(40)}`;
    expect(refusal(source).message).toContain('too ambiguous');
  });
});

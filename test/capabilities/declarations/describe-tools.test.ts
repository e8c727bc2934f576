import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import fc from 'fast-check';
import * as v from 'valibot';
import { afterAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTools, describeTools, type JsonSchema, RESERVED_WORDS } from '../../../src/capabilities/index.js';

const execute = () => null;
const declare = (input: unknown) => describeTools([defineTools('ns', { tool: { input, execute } })]);
/** The declaration on one line, without the namespace around it. */
const flat = (text: string) =>
  text
    .replace(/\s+/g, ' ')
    .replace(/^declare namespace ns \{ /, '')
    .replace(/ \} $/, '');
const inputType = (input: unknown) => /input\??: (.*)\): Promise/.exec(flat(declare(input)))?.[1];

interface Node {
  name: string;
  children: Node[];
}
const Tree: z.ZodType<Node> = z.object({
  name: z.string(),
  get children() {
    return z.array(Tree);
  },
});

describe('the types of a JSON Schema', () => {
  it.each<[JsonSchema, string]>([
    [{ type: 'string' }, 'string'],
    [{ type: 'integer' }, 'number'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ type: 'string', nullable: true }, 'string | null'],
    [true, 'unknown'],
    [{}, 'unknown'],
    [false, 'never'],
    [{ const: 'a"b' }, '"a\\"b"'],
    [{ const: null }, 'null'],
    [{ const: { a: [1, 'x'] } }, '{ a: [1, "x"] }'],
    [{ enum: ['a', 1, null, false, -1.5] }, '"a" | 1 | null | false | -1.5'],
    [{ enum: [] }, 'never'],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'string' }] }, 'string | number'],
    [{ oneOf: [{ const: 1 }, { const: 2 }] }, '1 | 2'],
    [{ type: 'array', items: { type: ['string', 'number'] } }, '(string | number)[]'],
    [{ type: 'array', items: { type: 'array', items: { type: 'string' } } }, 'string[][]'],
    [{ type: 'array' }, 'unknown[]'],
    [{ type: 'array', items: { type: 'string', format: 'date' } }, '(/* @format date */ string)[]'],
    [{ type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] }, '[string, number]'],
    [{ type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'number' } }, '[string, ...number[]]'],
    [{ type: 'array', prefixItems: [{ type: 'string' }, { enum: [1, 2] }], minItems: 1 }, '[string, (1 | 2)?]'],
    [{ items: [{ type: 'string' }], additionalItems: { type: 'number' } }, '[string, ...number[]]'],
    [{ type: 'object' }, '{ [key: string]: unknown }'],
    [{ type: 'object', additionalProperties: false }, '{ [key: string]: never }'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, '{ [key: string]: number }'],
    [
      { patternProperties: { '^a': { type: 'number' }, '^b': { type: 'string' } } },
      '{ [key: string]: number | string }',
    ],
    [{ properties: { a: { type: 'string' } }, required: ['a'] }, '{ a: string; }'],
    [{ properties: { a: { type: 'string' } } }, '{ a?: string; }'],
    [{ required: ['b'] }, '{ b: unknown; }'],
    [
      { properties: { a: { type: 'string' } }, additionalProperties: { type: 'number' } },
      '{ a?: string; } & { [key: string]: number }',
    ],
    [
      { allOf: [{ properties: { a: {} }, required: ['a'] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }] },
      '{ a: unknown; } & (string | null)',
    ],
    [{ properties: { a: { properties: { 'b-c': { type: 'boolean' } } } } }, '{ a?: { "b-c"?: boolean; }; }'],
  ])('case %#: %j', (schema, expected) => {
    expect(inputType(schema)).toBe(expected);
  });

  it('names what is referred to, recursion included', () => {
    const text = flat(
      declare({
        $ref: '#/$defs/tree-node',
        $defs: {
          'tree-node': {
            type: 'object',
            description: 'A node',
            properties: { children: { type: 'array', items: { $ref: '#/$defs/tree-node' } } },
          },
        },
      }),
    );
    expect(text).toContain('/** A node */ type TreeNode = { children?: TreeNode[]; };');
    expect(text).toContain('function tool(input?: TreeNode): Promise<unknown>;');
    expect(flat(declare({ properties: { next: { $ref: '#' } } }))).toBe(
      'type ToolInput = { next?: ToolInput; }; function tool(input?: ToolInput): Promise<unknown>;',
    );
  });

  it('keeps names of different schemas apart, and Promise what it is', () => {
    const schema = (of: string) => ({ $ref: '#/definitions/Promise', definitions: { Promise: { type: of } } });
    const provider = defineTools('ns', {
      a: { input: schema('string'), output: schema('number'), execute: () => 1 },
    });
    const text = flat(describeTools([provider]));
    expect(text).toContain('type Promise2 = number;');
    expect(text).toContain('type Promise3 = string;');
    expect(text).toContain('function a(input: Promise3): Promise<Promise2>;');
  });
});

describe('what a model reads beside the types', () => {
  it('has descriptions, defaults, formats and bounds', () => {
    const text = declare({
      type: 'object',
      description: 'Where and when',
      properties: {
        when: { type: 'string', format: 'date-time', description: 'The day.\nIn UTC.', default: 'now' },
        days: { type: 'integer', minimum: 1, maximum: 7, default: 3 },
      },
    });
    expect(text).toBe(`declare namespace ns {
  function tool(/* Where and when */ input?: {
    /**
     * The day.
     * In UTC.
     * @default "now"
     * @format date-time
     */
    when?: string;
    /**
     * @type integer
     * @default 3
     * @minimum 1
     * @maximum 7
     */
    days?: number;
  }): Promise<unknown>;
}
`);
  });

  it('is rendered once per provider', () => {
    let asked = 0;
    const schema = z.object({ a: z.string() });
    const counted = {
      '~standard': {
        ...schema['~standard'],
        jsonSchema: {
          input: () => {
            asked += 1;
            return { type: 'string' };
          },
          output: () => ({}),
        },
      },
    };
    const provider = defineTools('ns', { tool: { input: counted, execute } });
    const first = describeTools([provider]);
    const count = asked;
    expect(describeTools([provider])).toBe(first);
    expect(asked).toBe(count);
  });
});

describe('input is optional', () => {
  it.each<[unknown, boolean]>([
    [{ type: 'object', properties: { a: {} } }, true],
    [{ type: 'object', required: ['a'] }, false],
    [{ type: 'object', minProperties: 1 }, false],
    [{ type: 'string' }, false],
    [z.object({ a: z.string().default('x') }), true],
    [z.object({ a: z.string() }), false],
    [z.object({ a: z.string() }).optional(), true],
    [z.object({ a: z.string() }).refine(async () => true), false],
    [v.optional(v.string()), true],
    [type({ 'a?': 'string' }), true],
  ])('where the schema allows it: case %#', (schema, optional) => {
    expect(declare(schema).includes('input?:')).toBe(optional);
  });
});

describe('Standard Schemas', () => {
  it('describe the side a guest sees: input before, output after transformation', () => {
    const pipe = z.object({ n: z.string().transform(Number).pipe(z.number()) });
    const provider = defineTools('ns', { tool: { input: pipe, output: pipe, execute: () => ({ n: '1' }) } });
    expect(flat(describeTools([provider]))).toBe('function tool(input: { n: string; }): Promise<{ n: number; }>;');
  });

  it('of zod, arktype and, with its converter, valibot become types', () => {
    expect(inputType(z.object({ a: z.array(z.enum(['x', 'y'])), b: z.tuple([z.string(), z.number()]) }))).toBe(
      '{ a: ("x" | "y")[]; b: [string, number]; }',
    );
    expect(inputType(type({ a: 'string', 'b?': 'number|boolean' }))).toBe('{ a: string; b?: number | boolean; }');
    const described = v.object({ a: v.pipe(v.string(), v.description('hey')), o: v.optional(v.number(), 3) });
    expect(inputType(toStandardJsonSchema(described))).toBe('{ /** hey */ a: string; /** @default 3 */ o?: number; }');
    expect(flat(declare(Tree))).toContain('type ToolInput = { name: string; children: ToolInput[]; };');
  });

  it('without a JSON Schema say unknown, and why', () => {
    expect(inputType(v.object({ a: v.string() }))).toBe('/* the schema has no JSON Schema form */ unknown');
    expect(declare(z.object({ a: z.date() }))).toContain('a: unknown');
  });
});

describe('declarations compile', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-declarations-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const hostileText = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({
      unit: fc.constantFrom(
        '*/',
        '/*',
        '*',
        '/',
        '\n',
        '\r',
        '\u2028',
        '\u2029',
        '`',
        '"',
        "'",
        '\\',
        '${',
        '}',
        '//',
        ' ',
        'x',
      ),
    }),
  );
  const json = fc.jsonValue({ maxDepth: 2 });
  const { schema } = fc.letrec<{ schema: JsonSchema }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      fc.record(
        {
          type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'null', 'array', 'object'),
          description: hostileText,
          format: hostileText,
          default: fc.oneof(json, hostileText),
        },
        { requiredKeys: [] },
      ),
      fc.record({ const: fc.oneof(json, hostileText) }),
      fc.record({ enum: fc.array(fc.oneof(json, hostileText), { maxLength: 4 }) }),
      fc.record({ $ref: fc.constantFrom('#/$defs/list', '#/$defs/*~1', '#/$defs/Promise', '#/$defs/string') }),
      fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
      fc.record({ allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }), description: hostileText }),
      fc.record({ type: fc.constant('array'), items: tie('schema') }),
      fc.record(
        {
          prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }),
          items: tie('schema'),
          minItems: fc.nat(3),
        },
        { requiredKeys: ['prefixItems'] },
      ),
      fc
        .tuple(fc.dictionary(hostileText, tie('schema'), { maxKeys: 4 }), tie('schema'), fc.subarray([0, 1, 2]))
        .map(([properties, additionalProperties, picks]) => ({
          type: 'object',
          properties,
          additionalProperties,
          required: picks.flatMap((pick) => Object.keys(properties)[pick] ?? []),
        })),
    ),
  }));
  const $defs = {
    list: {
      type: 'object',
      properties: { next: { $ref: '#/$defs/list' }, all: { type: 'array', items: { $ref: '#' } } },
    },
    '*/': { type: 'array', items: { $ref: '#/$defs/*~1' } },
    Promise: { type: 'string', description: '*/' },
    string: { type: 'object', additionalProperties: { $ref: '#/$defs/string' } },
  };

  it('whatever names, descriptions and schemas they are made from', () => {
    const samples = fc.sample(fc.tuple(hostileText, schema, schema), { numRuns: 300, seed: 7 });
    const tools = Object.fromEntries(
      samples.map(([description, input, output], index) => {
        const nested = (properties: JsonSchema) => ({ type: 'object', properties: { properties }, $defs });
        return [`tool${index}`, { description, input: nested(input), output: nested(output), execute }];
      }),
    );
    const odd = [
      ...RESERVED_WORDS,
      ...['__proto__', 'then', 'toString', 'constructor', 'undefined', 'NaN', 'any', 'string', 'type', 'namespace'],
      ...[
        'declare',
        'get',
        'set',
        'async',
        'of',
        'as',
        'Promise',
        'Array',
        'module',
        'global',
        'unknown',
        'never',
        'require',
      ],
    ];
    const anyProperty = Object.fromEntries(
      [...odd, 'readonly', 'abstract', 'accessor', '1', ''].map((name) => [name, {}]),
    );
    const oddTools = Object.fromEntries(
      odd.map((name) => [name, { input: { properties: anyProperty, required: odd }, execute }]),
    );
    const vendors = defineTools('vendors', {
      zod: { input: Tree, output: z.array(Tree), execute: () => [] },
      record: { input: z.record(z.enum(['a', 'b']), z.union([z.string(), z.iso.datetime()])), execute },
      discriminated: {
        input: z.discriminatedUnion('kind', [z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]),
        execute,
      },
      arktype: { input: type({ a: 'string.date.iso', 'b?': '(number|boolean)[]' }), execute },
      valibot: { input: toStandardJsonSchema(v.record(v.string(), v.nullable(v.number()))), execute },
      bare: { input: v.string(), execute },
    });
    const text = describeTools([
      defineTools('generated', tools),
      defineTools('odd', oddTools),
      vendors,
      defineTools('none', {}),
    ]);
    const use = `
      async function use(): Promise<string[]> {
        const [first] = await vendors.zod({ name: 'a', children: [{ name: 'b', children: [] }] });
        await odd.delete_(null as never);
        await generated.tool0();
        await vendors.record({ a: 'x', b: 'y' });
        // @ts-expect-error the name is missing
        await vendors.zod({ children: [] });
        // @ts-expect-error there is no such kind
        await vendors.discriminated({ kind: 'c' });
        return [first!.children[0]!.name];
      }`;
    writeFileSync(join(folder, 'tools.d.ts'), text);
    writeFileSync(join(folder, 'use.ts'), use);
    const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
    const flags = ['--strict', '--noEmit', '--target', 'es2022', '--lib', 'es2022', '--types', ''];
    const result = spawnSync(process.execPath, [tsc, ...flags, 'tools.d.ts', 'use.ts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect(result.stdout.split('\n').slice(0, 20).join('\n')).toBe('');
    expect(result.status).toBe(0);
  });
});

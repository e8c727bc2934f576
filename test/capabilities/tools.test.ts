import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineTools, toManifest } from '../../src/capabilities/index.js';

describe('defineTools', () => {
  it('types execute by its schemas, whatever the vendor', () => {
    const provider = defineTools('t', {
      zod: {
        input: z.object({ n: z.string().transform(Number) }),
        output: z.object({ at: z.date().transform((date) => date.toISOString()) }),
        execute(input, context) {
          expectTypeOf(input).toEqualTypeOf<{ n: number }>();
          expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
          return { at: new Date(input.n) };
        },
      },
      valibot: {
        input: v.object({ a: v.optional(v.number(), 3) }),
        execute: async (input) => {
          expectTypeOf(input).toEqualTypeOf<{ a: number }>();
          return input.a;
        },
      },
      arktype: {
        input: type({ 'b?': 'string' }),
        execute: (input) => {
          expectTypeOf(input).toEqualTypeOf<{ b?: string }>();
          return null;
        },
      },
      json: {
        input: { type: 'object', properties: { c: { type: 'string' } } },
        execute: (input) => {
          expectTypeOf(input).toBeUnknown();
          return input;
        },
      },
      annotated: { input: { type: 'number' }, execute: (input: number) => input + 1 },
      plain: (input, context) => [input, context.callId],
    });
    expect([...provider.tools.keys()]).toEqual(['zod', 'valibot', 'arktype', 'json', 'annotated', 'plain']);
  });

  it('refuses at compile time what does not fit the schemas', () => {
    defineTools('t', {
      wrongResult: {
        output: z.object({ s: z.string() }),
        // @ts-expect-error the result has a number where the schema wants a string
        execute: () => ({ s: 3 }),
      },
      wrongInput: {
        input: z.object({ n: z.number() }),
        // @ts-expect-error the input has a number where the function wants a string
        execute: (input: { n: string }) => input,
      },
    });
  });

  it('freezes what it makes', () => {
    const provider = defineTools('t', { a: () => 1, b: { execute: () => 1 } });
    expect(Object.isFrozen(provider)).toBe(true);
    for (const tool of provider.tools.values()) expect(Object.isFrozen(tool)).toBe(true);
  });

  it('keeps the `this` of a definition', async () => {
    class Greeter {
      readonly greeting = 'hello';
      execute() {
        return this.greeting;
      }
    }
    const provider = defineTools('t', { a: new Greeter() });
    const context = {
      signal: new AbortController().signal,
      namespace: 't',
      toolName: 'a',
      safeToolName: 'a',
      callId: '1',
    };
    expect(provider.tools.get('a')?.execute(undefined, context)).toBe('hello');
  });

  it.each<[unknown, string]>([
    [{ type: 'objekt' }, 'schema.type: "objekt" is not a type'],
    [{ properties: { a: { type: 'str' } } }, 'schema.properties.a.type'],
    [{ properties: { a: 3 } }, 'schema.properties.a: must be an object or a boolean'],
    [{ properties: [] }, 'schema.properties: must be an object'],
    [{ required: true }, 'schema.required: must be a list'],
    [{ pattern: '(' }, 'schema.pattern'],
    [{ anyOf: [] }, 'schema.anyOf: must be a list'],
    [{ $ref: '#/$defs/Nope' }, 'schema.$ref: "#/$defs/Nope" is not a place in this schema'],
    [{ $ref: 'https://example.com/x' }, 'schema.$ref'],
    [{ $ref: '#' }, 'leads back to itself'],
    [{ $defs: { A: { anyOf: [{ $ref: '#/$defs/B' }] }, B: { $ref: '#/$defs/A' } } }, 'leads back to itself'],
    [{ default: new Date() }, 'schema.default: Date'],
    [{ minimum: 'x' }, 'schema.minimum: must be a number'],
    [{ dependencies: { a: { $ref: '#' } } }, 'leads back to itself'],
    [{ dependencies: { a: { type: 'x' } } }, 'schema.dependencies.a.type'],
    [{ $dynamicRef: '#a' }, 'schema.$dynamicRef: is not supported'],
    [[], 'neither a Standard Schema nor a JSON Schema'],
    ['string', 'neither a Standard Schema nor a JSON Schema'],
    [{ '~standard': {} }, 'neither a Standard Schema nor a JSON Schema'],
  ])('refuses schema %# and names the tool', (input, problem) => {
    const define = () => defineTools('ns', { good: () => 1, 'bad-one': { input, execute: () => 1 } });
    expect(define).toThrow(
      expect.objectContaining({ code: 'TOOLS_INVALID', facts: { namespace: 'ns', tool: 'bad-one' } }),
    );
    expect(define).toThrow('Tool ns."bad-one" has an input schema');
    expect(define).toThrow(problem);
  });

  it('refuses definitions that are none', () => {
    // @ts-expect-error a number is no tool
    expect(() => defineTools('ns', { a: 3 })).toThrow('neither an object nor a function');
    // @ts-expect-error nothing to execute
    expect(() => defineTools('ns', { a: { description: 'x' } })).toThrow('no `execute` function');
    // @ts-expect-error a description is text
    expect(() => defineTools('ns', { a: { description: 3, execute: () => 1 } })).toThrow('description');
  });

  it('leaves the schema of the author untouched', () => {
    const input = Object.freeze({ $id: 'https://example.com/x', type: 'string', nullable: true });
    expect(() => defineTools('ns', { a: { input, execute: () => 1 } })).not.toThrow();
    expect(Object.getOwnPropertyNames(input)).toEqual(['$id', 'type', 'nullable']);
  });
});

describe('toManifest', () => {
  const provider = defineTools('firecrawl', {
    'scrape-url': { description: 'Scrape', input: z.object({ url: z.url() }), execute: () => 1 },
    ['__proto__']: () => 1,
  });

  it('has names, descriptions and types, and nothing else', () => {
    const manifest = toManifest(provider);
    expect(Object.keys(manifest)).toEqual(['name', 'tools', 'types']);
    expect(manifest.name).toBe('firecrawl');
    expect(manifest.tools['scrape_url']).toEqual({
      safeName: 'scrape_url',
      originalName: 'scrape-url',
      description: 'Scrape',
    });
    expect(manifest.types).toContain('declare namespace firecrawl {');
    expect(JSON.parse(JSON.stringify(manifest))).toEqual(manifest);
  });

  it('holds a tool called __proto__ as an own key', () => {
    const { tools } = toManifest(provider);
    expect(Object.keys(tools)).toEqual(['scrape_url', '__proto__']);
    expect(Object.getPrototypeOf(tools)).toBe(Object.prototype);
  });

  it('is made once', () => {
    expect(toManifest(provider)).toBe(toManifest(provider));
  });
});

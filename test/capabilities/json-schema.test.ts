import { describe, expect, it } from 'vitest';
import { compileJsonSchema } from '../../src/capabilities/json-schema.js';
import type { CompiledSchema, JsonSchema } from '../../src/capabilities/schema.js';
import { cpuMs } from '../cpu-time.js';

function compile(schema: JsonSchema): CompiledSchema {
  const result = compileJsonSchema(schema);
  if (!result.ok) throw new Error(result.problem);
  return result.compiled;
}

describe('a recursive schema with alternatives', () => {
  const branch = (kind: string) => ({ properties: { next: { $ref: '#' }, kind: { const: kind } }, required: ['kind'] });
  const compiled = compile({ anyOf: [branch('a'), branch('b'), branch('c')] });
  const nest = (levels: number, kind: string) => {
    let value: object = { kind };
    for (let level = 0; level < levels; level += 1) value = { next: value, kind: 'c' };
    return value;
  };

  it('judges what is nested a little', () => {
    expect(compiled.validate(nest(5, 'a'))).toMatchObject({ ok: true });
    expect(compiled.validate(nest(5, 'x'))).toMatchObject({ ok: false });
  });

  it('gives up on what would take for ever', () => {
    const started = cpuMs();
    expect(compiled.validate(nest(50, 'x'))).toEqual({
      ok: false,
      issues: [{ path: [], message: 'takes too long to check: send less, or nest it less deeply' }],
    });
    expect(cpuMs() - started).toBeLessThan(15_000);
  });
});

it('judges the largest value that a boundary lets in', () => {
  const compiled = compile({ type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } });
  expect(compiled.validate(Array.from({ length: 130_000 }, (_, n) => ({ n })))).toMatchObject({ ok: true });
});

describe('uniqueItems', () => {
  const unique = compile({
    type: 'object',
    properties: { tags: { type: 'array', uniqueItems: true }, rows: { type: 'array' } },
  });

  it('finds equal items, however deep', () => {
    expect(unique.validate({ tags: [{ a: [1] }, { a: [2] }, { a: [1] }] })).toMatchObject({
      ok: false,
      issues: [{ path: ['tags'], message: 'duplicate items at indexes 0 and 2' }],
    });
    expect(unique.validate({ tags: [{ a: [1] }, { a: [2] }, 1, '1', [1], null] })).toMatchObject({ ok: true });
    expect(unique.validate({ tags: [...Array(2_000).keys()], rows: [0, 0] })).toMatchObject({ ok: true });
    expect(
      unique.validate({
        tags: [
          { a: 1, b: [] },
          { b: [], a: 1 },
        ],
      }),
    ).toMatchObject({ ok: false });
  });

  it('does not concern the lists that it is not asked of', () => {
    const rows = Array.from({ length: 100_000 }, () => 1);
    expect(unique.validate({ tags: ['a', 'b'], rows })).toMatchObject({ ok: true });
  });

  it('gives up on items that are alike for long', () => {
    const tags = Array.from({ length: 1_000 }, (_, n) => [...Array(260).fill(0), n]);
    const started = cpuMs();
    expect(unique.validate({ tags })).toEqual({
      ok: false,
      issues: [{ path: [], message: 'takes too long to check: send less, or nest it less deeply' }],
    });
    expect(cpuMs() - started).toBeLessThan(15_000);
  });

  it('counts every list that it is asked of', () => {
    const lists = compile({ type: 'array', items: { type: 'array', uniqueItems: true } });
    const list = [...Array(1_000).keys()];
    expect(lists.validate([list, list])).toMatchObject({ ok: true });
    expect(lists.validate(Array(250).fill(list))).toMatchObject({ ok: false });
    expect(lists.validate(Array.from({ length: 250 }, (_, n) => [...list, -n - 1]))).toMatchObject({ ok: true });
  });
});

it('takes a property that is called uniqueItems for a property', () => {
  const compiled = compile({
    properties: { uniqueItems: true, list: { uniqueItems: true } },
    additionalProperties: false,
  });
  expect(compiled.validate({ uniqueItems: 1, list: [1, 2] })).toMatchObject({ ok: true });
  expect(compiled.validate({ uniqueItems: [1, 1], list: [1, 2] })).toMatchObject({ ok: true });
  expect(compiled.validate({ uniqueItems: 1, list: [1, 1] })).toMatchObject({ ok: false });
});

it.each([
  ['bytes', { a: [new Uint8Array(16 * 1024 * 1024)] }, ['a', 0], 'is binary'],
  ['a buffer', { a: new ArrayBuffer(8) }, ['a'], 'is binary'],
  ['a big integer', [1n], [0], 'is a big integer'],
])('refuses %s without a look at the schema', (_, value, path, message) => {
  const started = cpuMs();
  expect(compile(true).validate(value)).toEqual({
    ok: false,
    issues: [{ path, message: `${message}, which a JSON Schema cannot check` }],
  });
  expect(cpuMs() - started).toBeLessThan(2_000);
});

it('judges a value that leads back to itself', () => {
  const value: { self?: unknown } = {};
  value.self = value;
  expect(compile({ type: 'object' }).validate(value)).toMatchObject({ ok: true });
});

it('treats properties named like keywords of the validator as properties', () => {
  const compiled = compile({ properties: { $recursiveRef: { type: 'string' }, $ref: { type: 'string' } } });
  expect(compiled.validate({ $recursiveRef: 'x', $ref: 'y' })).toMatchObject({ ok: true });
  expect(compiled.validate({ $recursiveRef: 1 })).toMatchObject({ ok: false });
});

it.each([
  'date',
  'time',
  'date-time',
  'duration',
  'uri',
  'uri-reference',
  'uri-template',
  'url',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uuid',
  'json-pointer',
  'json-pointer-uri-fragment',
  'relative-json-pointer',
  'regex',
])('checks the format %s of long hostile text in little time', (format) => {
  const compiled = compile({ type: 'string', format });
  const started = cpuMs();
  for (const unit of ['a', 'a.', 'a-', 'a@', '/', '%20', ':', '0', 'P1', '{a}', '1:', '::', '(a']) {
    compiled.validate(`${unit.repeat(20_000)}!`);
    compiled.validate(`http://${unit.repeat(20_000)}!`);
    compiled.validate(`a@${unit.repeat(20_000)}!`);
  }
  expect(cpuMs() - started).toBeLessThan(15_000);
});

it('keeps to the draft that a schema names', () => {
  const old = compile({
    $schema: 'http://json-schema.org/draft-07/schema#',
    items: [{ type: 'string' }],
    additionalItems: false,
  });
  expect(old.validate(['x'])).toMatchObject({ ok: true });
  expect(old.validate(['x', 1])).toEqual({ ok: false, issues: [{ path: [1], message: 'is not allowed here' }] });
});

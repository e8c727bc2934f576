import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Issue } from './issues.js';

/** A plain JSON Schema: draft 2020-12 or draft-07, with local references only. */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };

/** What describes a tool's input or output: any Standard Schema (zod, valibot, arktype, …) or a plain JSON Schema. */
export type Schema = StandardSchemaV1 | JsonSchema;

/** What `execute` receives: the output of the input schema. A JSON Schema carries no type. */
export type InputOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferOutput<S> : unknown;

/** What `execute` returns: the input of the output schema. */
export type ResultOf<S> = S extends StandardSchemaV1 ? StandardSchemaV1.InferInput<S> : unknown;

export type Validation =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly Issue[] };

/** A schema after `defineTools`: ready to validate and to be described. */
export interface CompiledSchema {
  /** Whether values must be checked for transport before validation, because the validator reads JSON only. */
  readonly kind: 'json' | 'standard';
  validate(value: unknown): Validation | Promise<Validation>;
  /** The JSON Schema that describes one side of it, or nothing where the vendor offers none. */
  toJsonSchema(side: 'input' | 'output'): JsonSchema | undefined;
}

/** Tells a Standard Schema from a JSON Schema. Some vendors make theirs callable. */
export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null) return false;
  if (!('~standard' in schema)) return false;
  const props: unknown = schema['~standard'];
  return (
    typeof props === 'object' &&
    props !== null &&
    'version' in props &&
    props.version === 1 &&
    'validate' in props &&
    typeof props.validate === 'function'
  );
}

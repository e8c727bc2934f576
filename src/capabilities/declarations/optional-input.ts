import { compileJsonSchema } from '../json-schema.js';
import type { CompiledSchema, JsonSchema, Validation } from '../schema.js';

/** Tells whether a tool can be called without input: its schema takes `undefined`, or takes `{}` in its place. */
export function isInputOptional(schema: CompiledSchema, described: JsonSchema | undefined): boolean {
  return accepts(schema, undefined) || (described !== undefined && acceptsEmptyObject(described));
}

function acceptsEmptyObject(described: JsonSchema): boolean {
  const result = compileJsonSchema(described);
  return result.ok && accepts(result.compiled, {});
}

/** Schemas that answer later or throw are taken to want their input. */
function accepts(schema: CompiledSchema, value: unknown): boolean {
  try {
    const validation: Validation | Promise<Validation> = schema.validate(value);
    if (!(validation instanceof Promise)) return validation.ok;
    validation.catch(() => {});
  } catch {
    // Nothing to report: the declaration asks for input, and a call says what is wrong with it.
  }
  return false;
}

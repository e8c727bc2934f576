import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { Issue } from './issues.js';
import { prepareJsonSchema } from './prepare-json-schema.js';
import type { CompiledSchema, JsonSchema, Validation } from './schema.js';

const TARGETS = ['draft-2020-12', 'draft-07'] as const;

/** Wraps a Standard Schema of any vendor. */
export function compileStandardSchema(schema: StandardSchemaV1): CompiledSchema {
  return {
    kind: 'standard',
    validate(value) {
      const result = schema['~standard'].validate(value);
      return result instanceof Promise ? result.then(toValidation) : toValidation(result);
    },
    toJsonSchema(side) {
      for (const candidate of describe(schema, side)) {
        const prepared = prepareJsonSchema(candidate);
        if (prepared.ok) return prepared.schema;
      }
      return undefined;
    },
  };
}

function toValidation(result: StandardSchemaV1.Result<unknown>): Validation {
  if (!result.issues) return { ok: true, value: result.value };
  return { ok: false, issues: result.issues.map(toIssue) };
}

function toIssue(issue: StandardSchemaV1.Issue): Issue {
  const path = (issue.path ?? []).map((segment) => {
    const key = typeof segment === 'object' ? segment.key : segment;
    return typeof key === 'symbol' ? String(key) : key;
  });
  return { path, message: issue.message };
}

/** Asks the schema for a JSON Schema: by the Standard JSON Schema interface, else by the method zod has. */
function* describe(schema: object, side: 'input' | 'output'): Generator<unknown> {
  const converter = method(property(property(schema, '~standard'), 'jsonSchema'), side);
  if (converter !== undefined) for (const target of TARGETS) yield attempt(() => converter({ target }));
  const own = method(schema, 'toJSONSchema');
  if (own !== undefined) yield attempt(() => own({ io: side, unrepresentable: 'any' }));
}

/** Vendors throw for what JSON Schema cannot say; the declaration then says `unknown`. */
function attempt(convert: () => unknown): JsonSchema | undefined {
  try {
    const converted = convert();
    return typeof converted === 'object' && converted !== null ? { ...converted } : undefined;
  } catch {
    return undefined;
  }
}

function property(target: unknown, key: string): unknown {
  if ((typeof target !== 'object' && typeof target !== 'function') || target === null) return undefined;
  return Reflect.get(target, key);
}

function method(target: unknown, key: string): ((options: object) => unknown) | undefined {
  const found = property(target, key);
  return typeof found === 'function' ? (options) => Reflect.apply(found, target, [options]) : undefined;
}

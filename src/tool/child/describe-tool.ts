import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeThrown } from './describe-thrown.js';

type Fields = Record<string, unknown>;
const isObject = (value: unknown): value is Fields =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
const PROBLEMS = 10;

/** Imports a module as the package itself would find it. */
async function importFrom(packageFolder: string, name: string): Promise<Fields | undefined> {
  try {
    const path = createRequire(join(packageFolder, 'package.json')).resolve(name);
    const loaded: unknown = await import(pathToFileURL(path).href);
    return isObject(loaded) ? loaded : undefined;
  } catch {
    return undefined;
  }
}

function looksLikeJsonSchema(schema: Fields): boolean {
  return (
    !('~standard' in schema) &&
    !('_def' in schema) &&
    ['type', '$schema', 'properties', 'anyOf', 'oneOf', '$ref'].some((field) => field in schema)
  );
}

async function viaPackages(schema: Fields, packageFolder: string): Promise<unknown> {
  // The SDKs know their own kinds of schema best, and convert zod of either generation.
  for (const name of ['ai', '@ai-sdk/provider-utils']) {
    const sdk = await importFrom(packageFolder, name);
    if (typeof sdk?.['asSchema'] !== 'function') continue;
    try {
      const converted: unknown = sdk['asSchema'](schema);
      if (isObject(converted) && 'jsonSchema' in converted) return await converted['jsonSchema'];
    } catch {
      // Next.
    }
  }
  const zod = await importFrom(packageFolder, 'zod');
  for (const z of [zod, zod?.['z']]) {
    if (!isObject(z) || typeof z['toJSONSchema'] !== 'function') continue;
    try {
      return z['toJSONSchema'](schema);
    } catch {
      // A schema of zod 3.
    }
  }
  return undefined;
}

/** The schema of a tool's input as the tool has it. One that is made on demand is made here, once. */
export function schemaOf(tool: object): unknown {
  const fields = tool as Fields;
  const schema = fields['inputSchema'] ?? fields['parameters'];
  return typeof schema === 'function' && !('~standard' in schema) ? (schema as () => unknown)() : schema;
}

/** A tool's schema as JSON Schema, if there is a way to get it. */
export async function inputSchemaOf(schema: unknown, packageFolder: string): Promise<unknown> {
  if (!isObject(schema)) return undefined;
  if ('jsonSchema' in schema) return await schema['jsonSchema'];
  if (looksLikeJsonSchema(schema)) return schema;
  const standard = schema['~standard'];
  const converter = isObject(standard) ? standard['jsonSchema'] : undefined;
  if (isObject(converter) && typeof converter['input'] === 'function') {
    try {
      return converter['input']({ target: 'draft-2020-12' });
    } catch {
      // Not every schema has a JSON form by itself.
    }
  }
  return await viaPackages(schema, packageFolder);
}

export interface Fit {
  readonly fit: boolean;
  readonly problems: readonly string[];
}

/** Says whether parameters are what the tool's own schema accepts. */
export async function paramsFit(schema: unknown, params: unknown, jsonSchema: unknown): Promise<Fit | undefined> {
  if (!isObject(schema)) return undefined;
  const standard = schema['~standard'];
  if (isObject(standard) && typeof standard['validate'] === 'function') {
    const result: unknown = await standard['validate'](params);
    const issues = isObject(result) ? result['issues'] : undefined;
    if (!Array.isArray(issues)) return { fit: true, problems: [] };
    return { fit: false, problems: issues.slice(0, PROBLEMS).map(describeIssue) };
  }
  if (typeof schema['validate'] === 'function') {
    const result: unknown = await schema['validate'](params);
    if (isObject(result) && result['success'] === true) return { fit: true, problems: [] };
    if (isObject(result) && result['success'] === false)
      return { fit: false, problems: [describeThrown(result['error']).message] };
  }
  return isObject(jsonSchema) ? await fitsJsonSchema(jsonSchema, params) : undefined;
}

function describeIssue(issue: unknown): string {
  if (!isObject(issue)) return String(issue);
  const path = Array.isArray(issue['path'])
    ? issue['path'].map((step: unknown) => String(isObject(step) ? step['key'] : step)).join('.')
    : '';
  return path === '' ? String(issue['message']) : `${path}: ${String(issue['message'])}`;
}

/** A schema is the package's own, and checking it may run its patterns: here in the child, never in the server. */
async function fitsJsonSchema(schema: Fields, params: unknown): Promise<Fit | undefined> {
  const { Validator } = await import('@cfworker/json-schema');
  try {
    const { valid, errors } = new Validator(schema, '2020-12', false).validate(params);
    if (valid) return { fit: true, problems: [] };
    // The outermost error only says that one further in exists.
    const problems = errors
      .slice(-PROBLEMS)
      .map((error) => `${error.instanceLocation.replace('#', 'params')}: ${error.error}`);
    return { fit: false, problems };
  } catch {
    return undefined;
  }
}

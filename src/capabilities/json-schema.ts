import type { OutputUnit } from '@cfworker/json-schema';
import type { Issue } from './issues.js';
import {
  MAX_VALIDATION_READS,
  MAX_VALIDATION_STEPS,
  MAX_VALIDATION_STEPS_FOR_ALL_ISSUES,
  MAX_VALUES_FOR_ALL_ISSUES,
} from './limits.js';
import { meteredValidator } from './metered-validator.js';
import { prepareJsonSchema } from './prepare-json-schema.js';
import { hasRepeatedItems } from './repeated-items.js';
import type { CompiledSchema, JsonSchema, Validation } from './schema.js';

const TOO_INTRICATE = 'takes too long to check: send less, or nest it less deeply';

export type CompiledJsonSchema =
  | { readonly ok: true; readonly compiled: CompiledSchema }
  | { readonly ok: false; readonly problem: string };

/** Compiles a JSON Schema for a validator that interprets it, so nothing is ever evaluated as code. */
export function compileJsonSchema(source: JsonSchema): CompiledJsonSchema {
  const prepared = prepareJsonSchema(source);
  if (!prepared.ok) return prepared;
  const { schema, hasUniqueItems } = prepared;
  const whole = validatorFor(schema, hasUniqueItems ? MAX_VALIDATION_READS : undefined);
  // The validator compares items pair by pair. Where no list has equal items there is nothing for it to find.
  const bare = hasUniqueItems ? prepareJsonSchema(source, { uniqueItems: 'drop' }) : undefined;
  const withoutPairs = bare?.ok ? validatorFor(bare.schema, undefined) : undefined;
  const validate = (value: unknown): Validation => {
    if (value === undefined) return { ok: false, issues: [{ path: [], message: 'is required' }] };
    const foreign = findForeign(value);
    if (foreign !== undefined) return { ok: false, issues: [foreign] };
    return withoutPairs === undefined || hasRepeatedItems(value) ? whole(value) : withoutPairs(value);
  };
  return { ok: true, compiled: { kind: 'json', validate, toJsonSchema: () => schema } };
}

function validatorFor(schema: JsonSchema, maxReads: number | undefined): (value: unknown) => Validation {
  const draft = draftOf(schema);
  const first = meteredValidator(schema, { draft, report: 'first', maxSteps: MAX_VALIDATION_STEPS, maxReads });
  const maxSteps = MAX_VALIDATION_STEPS_FOR_ALL_ISSUES;
  const all = meteredValidator(schema, { draft, report: 'all', maxSteps, maxReads });
  return (value) => {
    const result = first(value);
    if (result.kind === 'valid') return { ok: true, value };
    if (result.kind === 'exhausted') return { ok: false, issues: [{ path: [], message: TOO_INTRICATE }] };
    const full = countUpTo(value, MAX_VALUES_FOR_ALL_ISSUES) ? all(value) : result;
    return { ok: false, issues: toIssues(full.kind === 'invalid' ? full.errors : result.errors, value) };
  };
}

function draftOf(schema: JsonSchema): '4' | '7' | '2020-12' {
  const named = typeof schema === 'object' ? String(schema.$schema ?? '') : '';
  if (named.includes('draft-04')) return '4';
  return /draft-0[67]/.test(named) ? '7' : '2020-12';
}

interface Place {
  readonly value: unknown;
  readonly key?: string | number;
  readonly parent?: Place;
}

/**
 * Finds what a JSON Schema cannot speak of. To the validator bytes are an object with a property for each of them, and a big integer
 * makes it throw. What a host's own function returned may be deep, or lead back to itself.
 */
function findForeign(root: unknown): Issue | undefined {
  const seen = new Set<object>();
  const rest: Place[] = [{ value: root }];
  for (let place = rest.pop(); place !== undefined; place = rest.pop()) {
    const { value } = place;
    if (typeof value === 'bigint') return issueAt(place, 'is a big integer, which a JSON Schema cannot check');
    if (typeof value !== 'object' || value === null || seen.has(value)) continue;
    if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) {
      return issueAt(place, 'is binary, which a JSON Schema cannot check');
    }
    seen.add(value);
    for (const [key, item] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
      if (typeof item === 'object' || typeof item === 'bigint') rest.push({ value: item, key, parent: place });
    }
  }
  return undefined;
}

function issueAt(found: Place, message: string): Issue {
  const path: Array<string | number> = [];
  for (let place: Place | undefined = found; place?.key !== undefined; place = place.parent) path.unshift(place.key);
  return { path, message };
}

/** Tells whether a value has at most so many parts, without visiting more than that. */
function countUpTo(value: unknown, limit: number): boolean {
  const stack: unknown[] = [value];
  for (let count = 0; stack.length > 0; count += 1) {
    if (count >= limit) return false;
    const next = stack.pop();
    if (typeof next !== 'object' || next === null) continue;
    const parts = Object.values(next);
    if (parts.length > limit) return false;
    stack.push(...parts);
  }
  return true;
}

/** Keywords that only repeat, one level up, what a more precise error says. */
const ECHOES = new Set([
  '$ref',
  'properties',
  'items',
  'prefixItems',
  'allOf',
  'if',
  'false',
  'dependentSchemas',
  'dependencies',
]);
const CLOSED = new Set(['additionalProperties', 'unevaluatedProperties', 'additionalItems', 'unevaluatedItems']);

function toIssues(units: readonly OutputUnit[], value: unknown): Issue[] {
  // A closed object reports the unknown property twice: with the object's location and, as `false`, with its own.
  const issues = units
    .filter((unit) => !ECHOES.has(unit.keyword) && !CLOSED.has(unit.keyword))
    .map((unit) => toIssue(unit, value));
  const closed = units.filter((unit) => unit.keyword === 'false');
  for (const unit of closed)
    issues.push({ path: toPath(unit.instanceLocation, value), message: 'is not allowed here' });
  return issues.length > 0 ? issues : units.map((unit) => toIssue(unit, value));
}

function toIssue(unit: OutputUnit, value: unknown): Issue {
  const path = toPath(unit.instanceLocation, value);
  const missing =
    unit.keyword === 'required' ? /^Instance does not have required property "(.*)"\.$/s.exec(unit.error) : null;
  if (missing?.[1] !== undefined) return { path: [...path, missing[1]], message: 'is required' };
  return { path, message: inWords(unit.error) };
}

/** The validator speaks of instances and schemas; a model is told what was expected and what it sent. */
function inWords(error: string): string {
  const type = /^Instance type "(.*)" is invalid\. Expected (.*)\.$/.exec(error);
  if (type !== null) return `expected ${type[2]?.replaceAll('"', '').replaceAll(', ', ' or ')}, got ${type[1]}`;
  const words = error
    .replace(/^Instance does not match any of (.*)\.$/s, 'must be one of $1')
    .replace(/^Instance does not match any subschemas\.$/, 'fits none of the alternatives')
    .replace(/^Instance does not match exactly one subschema \((\d+) matches\)\.$/, 'must fit exactly one alternative')
    .replace(/^Instance does not match (.*)\.$/s, 'must be $1')
    .replace(/^Instance /, '')
    .replace(/\.$/, '');
  return words.charAt(0).toLowerCase() + words.slice(1);
}

/** Turns the validator's pointer into keys; only the value tells whether `0` is an index or a name. */
function toPath(location: string, value: unknown): Array<string | number> {
  const path: Array<string | number> = [];
  let current: unknown = value;
  for (const part of location.split('/').slice(1)) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(current) ? Number(key) : key);
    current =
      typeof current === 'object' && current !== null && Object.hasOwn(current, key)
        ? Reflect.get(current, key)
        : undefined;
  }
  return path;
}

import { checkTransportSafe, formatPath } from '../wire/index.js';
import { resolveLocalRef } from './json-pointer.js';
import type { JsonSchema } from './schema.js';

export type PreparedSchema =
  | { readonly ok: true; readonly schema: JsonSchema; readonly hasUniqueItems: boolean }
  | { readonly ok: false; readonly problem: string };

export interface PrepareOptions {
  /** Whether the copy has the keyword. */
  readonly uniqueItems?: 'keep' | 'drop';
}

type SchemaNode = { [keyword: string]: unknown };
type Path = ReadonlyArray<string | number>;

const TYPES = new Set(['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']);
/** Subschemas that apply to the very same value: a cycle through these never ends. */
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf'] as const;
const IN_PLACE = ['not', 'if', 'then', 'else'] as const;
const CHILDREN = [
  ...IN_PLACE,
  'additionalProperties',
  'unevaluatedProperties',
  'propertyNames',
  'contains',
  'additionalItems',
  'unevaluatedItems',
] as const;
const CHILD_LISTS = [...IN_PLACE_LISTS, 'prefixItems'] as const;
const CHILD_MAPS = ['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'] as const;
const COUNTS = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
const NUMBERS = ['minimum', 'maximum', 'multipleOf', ...COUNTS] as const;
const UNSUPPORTED = ['$dynamicRef', '$recursiveRef'] as const;

/**
 * Copies a JSON Schema and makes sure that it can be used: every keyword has its type, every pattern compiles, every
 * reference is local and leads somewhere, and none runs in a circle. The copy is ours to change: `nullable` becomes a
 * type, and `$id` goes, since all references are local.
 */
export function prepareJsonSchema(source: unknown, { uniqueItems = 'keep' }: PrepareOptions = {}): PreparedSchema {
  const copied = checkTransportSafe(source, { root: 'schema' });
  if (!copied.ok) return { ok: false, problem: copied.message };
  const root: unknown = copied.value;
  if (!isSchema(root)) return { ok: false, problem: 'schema: must be an object or a boolean' };
  const check = new SchemaCheck(root, uniqueItems);
  const problem = check.run();
  return problem === undefined
    ? { ok: true, schema: root, hasUniqueItems: check.hasUniqueItems }
    : { ok: false, problem };
}

class SchemaCheck {
  hasUniqueItems = false;
  readonly #root: SchemaNode | boolean;
  readonly #uniqueItems: 'keep' | 'drop';
  readonly #seen = new Set<SchemaNode>();
  readonly #ends = new Set<SchemaNode>();
  readonly #queue: Array<{ node: unknown; path: Path }> = [];
  #problem: string | undefined;

  constructor(root: SchemaNode | boolean, uniqueItems: 'keep' | 'drop') {
    this.#root = root;
    this.#uniqueItems = uniqueItems;
  }

  run(): string | undefined {
    this.#queue.push({ node: this.#root, path: [] });
    for (let next = this.#queue.shift(); next !== undefined; next = this.#queue.shift()) {
      this.#visit(next.node, next.path);
      if (this.#problem !== undefined) return this.#problem;
    }
    for (const node of this.#seen) {
      if (this.#circles(node, new Set()))
        return 'schema: a $ref leads back to itself without an object or array between';
    }
    return undefined;
  }

  #fail(path: Path, message: string): undefined {
    this.#problem ??= `${formatPath('schema', path)}: ${message}`;
  }

  #visit(node: unknown, path: Path): undefined {
    if (typeof node === 'boolean') return;
    if (!isNode(node)) return this.#fail(path, 'must be an object or a boolean');
    if (this.#seen.has(node)) return;
    this.#seen.add(node);
    if (typeof node.$id === 'string') delete node.$id;
    if (typeof node.id === 'string') delete node.id;
    this.#checkKeywords(node, path);
    this.#checkRef(node, path);
    this.#queueChildren(node, path);
    if (node.uniqueItems === true) this.hasUniqueItems = true;
    if (this.#uniqueItems === 'drop') delete node.uniqueItems;
    if (node.nullable === true) allowNull(node);
    // The validator checks `url` by an expression that takes exponential time. It is no format of the standard (`uri` is);
    // in capitals the validator takes it for an annotation, and a reader still understands it.
    if (node.format === 'url') node.format = 'URL';
  }

  #checkKeywords(node: SchemaNode, path: Path): void {
    const { type, required, description } = node;
    for (const one of Array.isArray(type) ? type : type === undefined ? [] : [type]) {
      if (!TYPES.has(one)) this.#fail([...path, 'type'], `${JSON.stringify(one)} is not a type`);
    }
    const isNames = Array.isArray(required) && required.every((name) => typeof name === 'string');
    // Draft-03 style `required: true` is common enough to deserve its own words.
    if (required !== undefined && !isNames) this.#fail([...path, 'required'], 'must be a list of property names');
    if (node.enum !== undefined && !Array.isArray(node.enum)) this.#fail([...path, 'enum'], 'must be a list');
    if (description !== undefined && typeof description !== 'string') {
      this.#fail([...path, 'description'], 'must be a string');
    }
    for (const keyword of NUMBERS) {
      if (node[keyword] !== undefined && typeof node[keyword] !== 'number') {
        this.#fail([...path, keyword], 'must be a number');
      }
    }
    for (const keyword of UNSUPPORTED) {
      if (node[keyword] !== undefined) this.#fail([...path, keyword], 'is not supported: use $ref');
    }
    if (node.format !== undefined && typeof node.format !== 'string')
      this.#fail([...path, 'format'], 'must be a string');
    if (node.pattern !== undefined) this.#checkPattern(node.pattern, [...path, 'pattern']);
    if (isNode(node.patternProperties)) {
      for (const pattern of Object.keys(node.patternProperties)) {
        this.#checkPattern(pattern, [...path, 'patternProperties', pattern]);
      }
    }
  }

  #checkPattern(pattern: unknown, path: Path): void {
    try {
      if (typeof pattern !== 'string') throw new TypeError('must be a string');
      new RegExp(pattern, 'u');
    } catch (error) {
      this.#fail(path, error instanceof Error ? error.message : 'is not a regular expression');
    }
  }

  #checkRef(node: SchemaNode, path: Path): void {
    if (node.$ref === undefined) return;
    const target = typeof node.$ref === 'string' ? resolveLocalRef(this.#root, node.$ref) : undefined;
    if (isSchema(target)) this.#queue.push({ node: target, path: [...path, '$ref'] });
    else
      this.#fail(
        [...path, '$ref'],
        `${JSON.stringify(node.$ref)} is not a place in this schema (only #/… is followed)`,
      );
  }

  #queueChildren(node: SchemaNode, path: Path): undefined {
    for (const keyword of CHILDREN) {
      if (node[keyword] !== undefined) this.#queue.push({ node: node[keyword], path: [...path, keyword] });
    }
    this.#queueDependencies(node, path);
    for (const keyword of CHILD_LISTS) this.#queueList(node[keyword], [...path, keyword]);
    // Before draft 2020-12 a tuple is a list under `items`.
    if (Array.isArray(node.items)) this.#queueList(node.items, [...path, 'items']);
    else if (node.items !== undefined) this.#queue.push({ node: node.items, path: [...path, 'items'] });
    for (const keyword of CHILD_MAPS) {
      const map = node[keyword];
      if (map === undefined) continue;
      if (!isNode(map)) return this.#fail([...path, keyword], 'must be an object');
      for (const [key, child] of Object.entries(map)) this.#queue.push({ node: child, path: [...path, keyword, key] });
    }
  }

  /** Draft-07 has lists of names and schemas side by side under `dependencies`. */
  #queueDependencies(node: SchemaNode, path: Path): void {
    for (const [key, child] of dependentSchemas(node)) {
      this.#queue.push({ node: child, path: [...path, 'dependencies', key] });
    }
  }

  #queueList(list: unknown, path: Path): undefined {
    if (list === undefined) return;
    if (!Array.isArray(list) || list.length === 0) return this.#fail(path, 'must be a list with at least one schema');
    for (const [index, node] of list.entries()) this.#queue.push({ node, path: [...path, index] });
  }

  /** Follows what applies to the same value; meeting a node again on the way is a circle. */
  #circles(node: SchemaNode, way: Set<SchemaNode>): boolean {
    if (this.#ends.has(node)) return false;
    if (way.has(node)) return true;
    way.add(node);
    const next: unknown[] = IN_PLACE.map((keyword) => node[keyword]);
    for (const keyword of IN_PLACE_LISTS) if (Array.isArray(node[keyword])) next.push(...node[keyword]);
    if (isNode(node.dependentSchemas)) next.push(...Object.values(node.dependentSchemas));
    next.push(...dependentSchemas(node).map(([, child]) => child));
    if (typeof node.$ref === 'string') next.push(resolveLocalRef(this.#root, node.$ref));
    const found = next.some((child) => isNode(child) && this.#circles(child, way));
    way.delete(node);
    if (!found) this.#ends.add(node);
    return found;
  }
}

function dependentSchemas(node: SchemaNode): Array<[string, unknown]> {
  if (!isNode(node.dependencies)) return [];
  return Object.entries(node.dependencies).filter(([, child]) => !Array.isArray(child));
}

/** OpenAPI says `nullable` where JSON Schema says `type: [..., 'null']`. */
function allowNull(node: SchemaNode): void {
  if (node.type !== undefined)
    node.type = [...new Set([...(Array.isArray(node.type) ? node.type : [node.type]), 'null'])];
  if (Array.isArray(node.enum) && !node.enum.includes(null)) node.enum.push(null);
}

/** Tells an object from a list and from everything else. */
export function isNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isSchema(value: unknown): value is SchemaNode | boolean {
  return typeof value === 'boolean' || isNode(value);
}

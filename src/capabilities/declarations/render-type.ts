import { isNode } from '../prepare-json-schema.js';
import { blockComment, docLines, inlineComment } from './doc-comment.js';
import type { ResolveRef } from './named-types.js';
import { indentRest, propertyName, stringLiteral } from './text.js';

type SchemaNode = { readonly [keyword: string]: unknown };

/** The text of a type, and how tightly it binds, so that brackets go where they must and nowhere else. */
interface Rendered {
  readonly text: string;
  readonly binds: 'atom' | 'intersection' | 'union';
}

const UNKNOWN: Rendered = { text: 'unknown', binds: 'atom' };
const NEVER: Rendered = { text: 'never', binds: 'atom' };
const OBJECT_KEYWORDS = ['properties', 'additionalProperties', 'patternProperties', 'required'];
const ARRAY_KEYWORDS = ['items', 'prefixItems'];

/** Writes a prepared JSON Schema as a TypeScript type. A schema that refers to its own root is known by its name. */
export function renderType(schema: unknown, resolve: ResolveRef): string {
  let isNamed = false;
  const renderer = new TypeRenderer((ref, render) => {
    isNamed ||= ref === '#';
    return resolve(ref, render);
  });
  const { text } = renderer.render(schema);
  return isNamed ? resolve('#', () => text) : text;
}

class TypeRenderer {
  readonly #resolve: ResolveRef;

  constructor(resolve: ResolveRef) {
    this.#resolve = resolve;
  }

  render(schema: unknown): Rendered {
    if (schema === false) return NEVER;
    if (!isNode(schema)) return UNKNOWN;
    const parts: Rendered[] = [];
    if (typeof schema.$ref === 'string') {
      parts.push(atom(this.#resolve(schema.$ref, (target) => this.render(target).text)));
    }
    if ('const' in schema) parts.push(literal(schema.const));
    else if (Array.isArray(schema.enum)) parts.push(union(schema.enum.map(literal)));
    else parts.push(this.#byType(schema));
    for (const keyword of ['anyOf', 'oneOf']) {
      const list = schema[keyword];
      if (Array.isArray(list)) parts.push(union(list.map((member) => this.#described(member))));
    }
    if (Array.isArray(schema.allOf)) parts.push(...schema.allOf.map((member) => this.render(member)));
    return intersection(parts);
  }

  /** A type in a place that has no doc comment of its own: what the schema says goes in front. */
  #described(schema: unknown): Rendered {
    const { text, binds } = this.render(schema);
    return { text: `${inlineComment(docLines(schema))}${text}`, binds };
  }

  #byType(schema: SchemaNode): Rendered {
    const named = schema.type ?? impliedType(schema);
    const types = Array.isArray(named) ? named : [named];
    return union(types.map((type) => this.#single(type, schema)));
  }

  #single(type: unknown, schema: SchemaNode): Rendered {
    switch (type) {
      case 'string':
      case 'boolean':
      case 'number':
      case 'null':
        return atom(type);
      case 'integer':
        return atom('number');
      case 'array':
        return this.#array(schema);
      case 'object':
        return this.#object(schema);
      default:
        return UNKNOWN;
    }
  }

  #array(schema: SchemaNode): Rendered {
    const prefix = schema.prefixItems ?? (Array.isArray(schema.items) ? schema.items : undefined);
    if (!Array.isArray(prefix)) return listOf(this.#described(schema.items ?? true));
    // Generators leave `minItems` out where they mean every place to be filled.
    const needed = typeof schema.minItems === 'number' ? schema.minItems : prefix.length;
    const members = prefix.map((member, index) => {
      const rendered = this.#described(member);
      return index < needed ? rendered.text : `${bracketed(rendered)}?`;
    });
    const rest = schema.prefixItems === undefined ? schema.additionalItems : schema.items;
    if (isNode(rest)) members.push(`...${listOf(this.#described(rest)).text}`);
    return atom(`[${members.join(', ')}]`);
  }

  #object(schema: SchemaNode): Rendered {
    const properties = new Map<string, unknown>(isNode(schema.properties) ? Object.entries(schema.properties) : []);
    const required = new Set<unknown>(Array.isArray(schema.required) ? schema.required : []);
    const others = this.#otherProperties(schema);
    for (const name of required) {
      if (typeof name === 'string' && !properties.has(name)) properties.set(name, schema.additionalProperties ?? true);
    }
    const members = [...properties].map(([name, property]) => {
      const mark = required.has(name) ? '' : '?';
      return `${blockComment(docLines(property))}${propertyName(name)}${mark}: ${this.render(property).text};`;
    });
    const open = others === undefined ? undefined : atom(`{ [key: string]: ${others.text} }`);
    if (members.length === 0) return open ?? atom(`{ [key: string]: ${isClosed(schema) ? 'never' : 'unknown'} }`);
    const closed = atom(`{\n  ${indentRest(members.join('\n'))}\n}`);
    return open === undefined ? closed : intersection([closed, open]);
  }

  /** The type of properties that have no name in the schema, where the schema says one. */
  #otherProperties(schema: SchemaNode): Rendered | undefined {
    const types: Rendered[] = [];
    if (isNode(schema.patternProperties)) {
      types.push(...Object.values(schema.patternProperties).map((property) => this.#described(property)));
    }
    const additional = schema.additionalProperties;
    if (isNode(additional) && Object.keys(additional).length > 0) types.push(this.#described(additional));
    return types.length === 0 ? undefined : union(types);
  }
}

function isClosed(schema: SchemaNode): boolean {
  return schema.additionalProperties === false || schema.unevaluatedProperties === false;
}

function impliedType(schema: SchemaNode): string | undefined {
  if (OBJECT_KEYWORDS.some((keyword) => keyword in schema)) return 'object';
  return ARRAY_KEYWORDS.some((keyword) => keyword in schema) ? 'array' : undefined;
}

function atom(text: string): Rendered {
  return { text, binds: 'atom' };
}

function literal(value: unknown): Rendered {
  if (typeof value === 'string') return atom(stringLiteral(value));
  if (Array.isArray(value)) return atom(`[${value.map((item) => literal(item).text).join(', ')}]`);
  if (!isNode(value)) return atom(String(value));
  const members = Object.entries(value).map(([key, item]) => `${propertyName(key)}: ${literal(item).text}`);
  return atom(members.length === 0 ? '{ [key: string]: never }' : `{ ${members.join('; ')} }`);
}

function bracketed(type: Rendered): string {
  // A comment in front of the type belongs inside the brackets as well.
  return type.binds === 'atom' && !type.text.startsWith('/*') ? type.text : `(${type.text})`;
}

function listOf(type: Rendered): Rendered {
  return atom(`${bracketed(type)}[]`);
}

function union(members: readonly Rendered[]): Rendered {
  const distinct = distinctTypes(members);
  if (distinct.some((member) => member.text === 'unknown')) return UNKNOWN;
  const [only] = distinct;
  if (only === undefined) return NEVER;
  if (distinct.length === 1) return only;
  return { text: distinct.map((member) => member.text).join(' | '), binds: 'union' };
}

function intersection(members: readonly Rendered[]): Rendered {
  const distinct = distinctTypes(members).filter((member) => member.text !== 'unknown');
  const [only] = distinct;
  if (only === undefined) return UNKNOWN;
  if (distinct.length === 1) return only;
  const texts = distinct.map((member) => (member.binds === 'union' ? `(${member.text})` : member.text));
  return { text: texts.join(' & '), binds: 'intersection' };
}

function distinctTypes(members: readonly Rendered[]): Rendered[] {
  return [...new Map(members.map((member) => [member.text, member])).values()];
}

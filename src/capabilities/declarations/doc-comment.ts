import { commentLines, stringLiteral } from './text.js';

/** Annotations that say more than the type does, in the order a reader wants them. */
const ANNOTATIONS = [
  'default',
  'format',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'examples',
] as const;

/** A generated pattern can be longer than all else together and tells a reader nothing. */
const MAX_PATTERN_CHARS = 80;
/** The end of the safe integers, which generators add to every integer. */
const SAFE_BOUNDS: ReadonlySet<unknown> = new Set([Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]);

/** Collects what a schema says about a value: its description, then one tag per annotation. */
export function docLines(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) return [];
  const keywords = new Map<string, unknown>(Object.entries(schema));
  const lines: string[] = [];
  const description = keywords.get('description') ?? keywords.get('title');
  if (typeof description === 'string' && description.trim() !== '') lines.push(...commentLines(description.trim()));
  if (keywords.get('deprecated') === true) lines.push('@deprecated');
  if (keywords.get('type') === 'integer') lines.push('@type integer');
  for (const name of ANNOTATIONS) {
    const value = keywords.get(name);
    if (value === undefined || SAFE_BOUNDS.has(value)) continue;
    // A tuple type says how many items it has.
    if (keywords.has('prefixItems') && (name === 'minItems' || name === 'maxItems')) continue;
    if (name === 'pattern' && (typeof value !== 'string' || value.length > MAX_PATTERN_CHARS)) continue;
    lines.push(...commentLines(`@${name} ${annotation(name, value)}`));
  }
  return lines;
}

function annotation(name: string, value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  return name === 'default' ? stringLiteral(value) : value;
}

/** Writes lines as a doc comment of its own, ending in a line break, or as nothing. */
export function blockComment(lines: readonly string[]): string {
  if (lines.length === 0) return '';
  if (lines.length === 1) return `/** ${lines[0]} */\n`;
  return `/**\n${lines.map((line) => (line === '' ? ' *' : ` * ${line}`)).join('\n')}\n */\n`;
}

/** Writes lines as a comment in front of a type, ending in a space, or as nothing. */
export function inlineComment(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `/* ${lines.join(' ')} */ `;
}

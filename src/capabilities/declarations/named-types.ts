import { resolveLocalRef } from '../json-pointer.js';
import type { JsonSchema } from '../schema.js';
import { blockComment, docLines } from './doc-comment.js';

/** Renders one schema to the text of a type. */
export type RenderType = (schema: unknown) => string;

/** Names the type that a `$ref` of one schema document leads to. */
export type ResolveRef = (ref: string, render: RenderType) => string;

/** The one global name that declarations use. */
const TAKEN = ['Promise'];

/** The named types of a namespace: each target of a `$ref` becomes one, which is what makes recursion possible. */
export class NamedTypes {
  readonly #names = new Set<string>(TAKEN);
  readonly #declarations: string[] = [];

  /** Opens a schema document: references inside it share their names, those of other documents do not. */
  open(root: JsonSchema, title: string): ResolveRef {
    const known = new Map<string, string>();
    return (ref, render) => {
      const earlier = known.get(ref);
      if (earlier !== undefined) return earlier;
      const name = this.#claim(ref === '#' ? title : (ref.split('/').at(-1) ?? title));
      // Known before it is rendered, so that a reference to itself finds it.
      known.set(ref, name);
      const place = this.#declarations.push('') - 1;
      const target = resolveLocalRef(root, ref);
      this.#declarations[place] = `${blockComment(docLines(target))}type ${name} = ${render(target)};`;
      return name;
    };
  }

  get declarations(): readonly string[] {
    return this.#declarations;
  }

  #claim(wanted: string): string {
    const base = pascalCase(wanted);
    let name = base;
    for (let count = 2; this.#names.has(name); count += 1) name = `${base}${count}`;
    this.#names.add(name);
    return name;
  }
}

/** Makes a type name that is never a keyword or a built-in type, since those start in lower case. */
export function pascalCase(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter((word) => word !== '');
  const name = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return /^[A-Z]/.test(name) ? name : `Type${name}`;
}

import { describeThrown } from './describe-thrown.js';
import type { FoundBy } from './protocol.js';

export type Found =
  | { readonly ok: true; readonly tool: object; readonly by: FoundBy }
  | { readonly ok: false; readonly code: 'TOOL_NOT_FOUND' | 'TOOL_INVALID'; readonly message: string };

const { hasOwn, keys } = Object;
const functionToString = Function.prototype.toString;
const { apply } = Reflect;
const CLASS = /^class\b/;

const isHolder = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function';
const own = (value: unknown, name: string): value is object => isHolder(value) && hasOwn(value, name);
const get = (value: object, name: string): unknown => (value as Record<string, unknown>)[name];

/** Whether something has an `execute` to call. */
export function isTool(value: unknown): value is object {
  return isHolder(value) && typeof get(value, 'execute') === 'function';
}

/** The default export; for a CommonJS module that was compiled from one with a default export, that one. */
function defaultOf(pkg: object): unknown {
  if (!own(pkg, 'default')) return undefined;
  const value = get(pkg, 'default');
  if (own(value, '__esModule') && get(value, '__esModule') === true && own(value, 'default'))
    return get(value, 'default');
  return value;
}

function candidate(
  pkg: object,
  name: string,
  declared: readonly string[],
): { readonly value: unknown; readonly by: FoundBy } | undefined {
  if (name !== 'default' && own(pkg, name)) return { value: get(pkg, name), by: 'export' };
  const outer = own(pkg, 'default') ? get(pkg, 'default') : undefined;
  const inner = defaultOf(pkg);
  if (name === 'default') return inner === undefined ? undefined : { value: inner, by: 'default' };
  for (const holder of [outer, inner])
    if (own(holder, name)) return { value: get(holder, name), by: 'default-property' };
  if (!isHolder(inner)) return undefined;
  const named = ['name', 'id'].some((field) => own(inner, field) && get(inner, field) === name);
  const listed = declared.includes(name) && isTool(inner);
  return named || listed ? { value: inner, by: 'default' } : undefined;
}

function exportsOf(pkg: object): string {
  const names = keys(pkg).slice(0, 20);
  return names.length === 0 ? 'it exports nothing' : `it exports ${names.join(', ')}`;
}

/** Finds the tool of this name, calling a factory if that is what it is. A wrong name never finds another tool. */
export async function findTool(pkg: object, name: string, declared: readonly string[]): Promise<Found> {
  const invalid = (message: string): Found => ({ ok: false, code: 'TOOL_INVALID', message });
  try {
    const found = candidate(pkg, name, declared);
    if (found === undefined) {
      return {
        ok: false,
        code: 'TOOL_NOT_FOUND',
        message: `the package has no export ${JSON.stringify(name)}; ${exportsOf(pkg)}`,
      };
    }
    const { value, by } = found;
    if (isTool(value)) return { ok: true, tool: value, by };
    if (typeof value !== 'function') return invalid(`the export ${JSON.stringify(name)} has no execute()`);
    if (CLASS.test(apply(functionToString, value, []) as string)) {
      return invalid(`the export ${JSON.stringify(name)} is a class; classes are not constructed`);
    }
    let made: unknown;
    try {
      made = await apply(value, undefined, []);
    } catch (error) {
      return invalid(`the factory ${JSON.stringify(name)} failed: ${describeThrown(error).message}`);
    }
    return isTool(made)
      ? { ok: true, tool: made, by }
      : invalid(`the function ${JSON.stringify(name)} has no execute(), and neither has what it returns`);
  } catch (error) {
    return invalid(`the export ${JSON.stringify(name)} cannot be read: ${describeThrown(error).message}`);
  }
}

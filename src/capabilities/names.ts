import { SallyportError } from '../errors/index.js';
import { MAX_TOOL_NAME_CHARS } from './limits.js';
import { GUEST_GLOBALS, RESERVED_WORDS } from './reserved.js';

const IDENTIFIER = /^[A-Za-z_$][A-Za-z0-9_$]*$/;

/** Makes a tool's name an identifier: `scrape-url` → `scrape_url`, `2fa` → `_2fa`, `delete` → `delete_`. */
export function sanitizeToolName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_$]/gu, '_').replace(/^(?=[0-9])/, '_');
  return RESERVED_WORDS.has(safe) ? `${safe}_` : safe;
}

/** Sanitises the names of one namespace, in order; a name that is taken gets `__2`, `__3`, … Keys are the safe names. */
export function sanitizeToolNames(names: Iterable<string>): Map<string, string> {
  const safeNames = new Map<string, string>();
  const attempts = new Map<string, number>();
  for (const name of names) {
    const base = sanitizeToolName(name);
    let safe = base;
    let attempt = attempts.get(base) ?? 1;
    while (safeNames.has(safe)) {
      attempt += 1;
      safe = `${base}__${attempt}`;
    }
    attempts.set(base, attempt);
    safeNames.set(safe, name);
  }
  return safeNames;
}

/** Refuses a tool name that cannot be granted, before it is sanitised. */
export function assertToolName(namespace: string, name: string): void {
  const why =
    name === ''
      ? 'is empty'
      : name.length > MAX_TOOL_NAME_CHARS
        ? `has more than ${MAX_TOOL_NAME_CHARS} characters`
        : '';
  if (why === '') return;
  const shown = JSON.stringify(name.slice(0, MAX_TOOL_NAME_CHARS));
  throw new SallyportError('TOOLS_NAME', `A tool of namespace "${namespace}" has a name that ${why}: ${shown}.`, {
    namespace,
  });
}

/** Refuses a namespace that is not an ASCII identifier, is reserved, or would hide a global of the guest. */
export function assertNamespace(name: string): void {
  const why = namespaceProblem(name);
  if (why === undefined) return;
  const shown =
    typeof name === 'string' ? JSON.stringify(name.slice(0, MAX_TOOL_NAME_CHARS)) : `of type ${typeof name}`;
  throw new SallyportError('TOOLS_NAME', `The namespace ${shown} ${why}.`);
}

function namespaceProblem(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'is not a string';
  if (name.length > MAX_TOOL_NAME_CHARS) return `has more than ${MAX_TOOL_NAME_CHARS} characters`;
  if (!IDENTIFIER.test(name))
    return 'is not an identifier: use letters, digits, _ and $ of ASCII, and no digit in front';
  if (RESERVED_WORDS.has(name)) return 'is a reserved word of JavaScript: choose another';
  if (GUEST_GLOBALS.has(name)) return 'would hide a global that guest code counts on: choose another';
  return undefined;
}

/** Refuses a set of providers in which two have the same namespace. */
export function assertProviders(providers: Iterable<{ readonly name: string }>): void {
  const seen = new Set<string>();
  for (const { name } of providers) {
    assertNamespace(name);
    if (seen.has(name)) {
      throw new SallyportError('TOOLS_NAME', `Two providers have the namespace "${name}": rename one.`, {
        namespace: name,
      });
    }
    seen.add(name);
  }
}

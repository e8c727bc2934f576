import { join } from 'node:path';
import type { Fields } from './fields.js';

/** What a client allows to be written, and what of that only to be read. Everything may be read. Paths as it wrote them. */
export interface FileRules {
  readonly write: readonly string[];
  readonly readOnly: readonly { readonly path: string; readonly missing: 'skip' | 'refuse' }[];
}

/** What a client's description of a sandbox asks for. `unknown`: something that is not understood here. */
export type SandboxRequest =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'rules';
      readonly network: 'restricted' | 'enabled';
      readonly files: 'unrestricted' | FileRules;
    };

const UNKNOWN: SandboxRequest = { kind: 'unknown' };

/**
 * Reads a client's description of a sandbox. Whatever is not exactly understood makes all of it unknown, and so do more
 * than `most` roots, entries, or rules that those make together: each entry may stand for every root.
 */
export function sandboxRequest(fields: Fields | undefined, most: number): SandboxRequest | undefined {
  if (fields === undefined) return undefined;
  try {
    const permissions = fields.optionalObject('permissions');
    const type = permissions?.oneOf('type', ['managed', 'disabled', 'external']);
    if (permissions === undefined || type === undefined) return UNKNOWN;
    if (type === 'disabled') return { kind: 'nothing' };
    const network = permissions.oneOf('network', ['restricted', 'enabled']);
    if (type === 'external') return { kind: 'rules', network, files: 'unrestricted' };
    const files = fileRules(permissions.optionalObject('file_system'), fields, most);
    return files === undefined ? UNKNOWN : { kind: 'rules', network, files };
  } catch {
    return UNKNOWN;
  }
}

function fileRules(fields: Fields | undefined, context: Fields, most: number): 'unrestricted' | FileRules | undefined {
  if (fields === undefined) return undefined;
  if (fields.oneOf('type', ['unrestricted', 'restricted']) === 'unrestricted') return 'unrestricted';
  const roots = projectRoots(context, most);
  const entries = fields.objects('entries');
  if (roots === undefined || entries.length > most) return undefined;
  const write: string[] = [];
  const readOnly: { path: string; missing: 'skip' | 'refuse' }[] = [];
  let everythingReadable = false;
  for (const entry of entries) {
    const access = entry.oneOf('access', ['read', 'write']);
    const named = placesOf(entry.optionalObject('path'), roots);
    if (named === undefined) return undefined;
    if (named === 'root') {
      if (access === 'write') return 'unrestricted';
      everythingReadable = true;
      continue;
    }
    if (write.length + readOnly.length + named.length > most) return undefined;
    if (access === 'write') write.push(...named);
    else {
      const missing = entry.optionalString('missing_path_behavior') === 'skip' ? 'skip' : 'refuse';
      readOnly.push(...named.map((path) => ({ path, missing }) as const));
    }
  }
  // Rules about reading are not for us: a room shows the system's programs to everybody.
  return everythingReadable ? { write, readOnly } : undefined;
}

function projectRoots(fields: Fields, most: number): string[] | undefined {
  if (fields.has('workspaceRoots')) {
    return fields.strings('workspaceRoots').length > most ? undefined : fields.paths('workspaceRoots');
  }
  return fields.has('cwd') ? [fields.path('cwd')] : [];
}

/** The paths that an entry is about. Temporary folders are none: a room has its own. */
function placesOf(fields: Fields | undefined, roots: readonly string[]): readonly string[] | 'root' | undefined {
  if (fields?.oneOf('type', ['path', 'special']) === 'path') return [fields.path('path')];
  const value = fields?.optionalObject('value');
  switch (value?.oneOf('kind', ['root', 'project_roots', 'slash_tmp', 'tmpdir'])) {
    case 'root':
      return 'root';
    case 'project_roots': {
      const subpath = value.optionalString('subpath');
      return subpath === undefined ? roots : roots.map((root) => join(root, subpath));
    }
    case 'slash_tmp':
    case 'tmpdir':
      return [];
    default:
      return undefined;
  }
}

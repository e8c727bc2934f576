import { lstatSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { beneath, type Policy, type PolicyRequest } from '../sandbox/index.js';
import type { FileScope } from './fs/scope.js';
import { realEntryPlace } from './real-place.js';
import type { FileRules, SandboxRequest } from './sandbox-request.js';

type Rules = Extract<SandboxRequest, { kind: 'rules' }>;

/**
 * What a room must be narrowed to, so that a client's rules hold in it to the letter. Undefined where they cannot: then
 * nothing may run.
 */
export function narrowedTo(rules: Rules, policy: Policy): PolicyRequest | undefined {
  const network = rules.network === 'restricted' ? { network: { kind: 'none' } as const } : {};
  if (rules.files === 'unrestricted') return network;
  const { read, write } = policy.filesystem;
  const roots = realRoots(rules.files);
  // Of each folder either all may be written, or only what of it was named, or nothing.
  const narrowed = write.flatMap((folder) =>
    roots.some((root) => beneath(folder, root)) ? [folder] : roots.filter((root) => beneath(root, folder)),
  );
  const exceptions: string[] = [];
  for (const { path, missing } of rules.files.readOnly) {
    const real = realEntry(path);
    if (real === undefined) {
      if (missing === 'refuse') return undefined;
    } else if (narrowed.some((folder) => beneath(folder, real))) {
      // Inside of what may be written it would take this folder back; around it, it says nothing new.
      if (roots.some((root) => beneath(real, root))) return undefined;
    } else if (narrowed.some((folder) => beneath(real, folder))) {
      // A link could be replaced, and a folder on the way to something deeper be put aside: neither can be mounted over.
      if (lstatSync(real).isSymbolicLink() || !narrowed.includes(dirname(real))) return undefined;
      exceptions.push(real);
    }
  }
  const only = write.filter((folder) => !narrowed.includes(folder));
  return { ...network, filesystem: { read: [...new Set([...read, ...only, ...exceptions])], write: narrowed } };
}

/** A scope in which a client's rules hold as well. */
export function scopeWithin(rules: Rules, scope: FileScope): FileScope {
  const { files } = rules;
  if (files === 'unrestricted') return scope;
  const roots = realRoots(files);
  // What is not there yet must not be made either.
  const exceptions = files.readOnly.map(({ path }) => realEntryPlace(path));
  const innermost = (path: string, folders: readonly string[]): number =>
    Math.max(0, ...folders.filter((folder) => beneath(path, folder)).map((folder) => folder.length));
  const allowed = (path: string): boolean => innermost(path, roots) > innermost(path, exceptions);
  return {
    folder: (path) => (scope.folder(path) === 'write' && !allowed(path) ? 'read' : scope.folder(path)),
    file: (path) => (scope.file(path) === 'write' && !allowed(path) ? 'read' : scope.file(path)),
  };
}

function realRoots(rules: FileRules): string[] {
  return rules.write.flatMap((path) => {
    try {
      return [realpathSync(path)];
    } catch {
      // What is not there cannot be granted.
      return [];
    }
  });
}

/** Where an entry really is, itself not followed. */
function realEntry(path: string): string | undefined {
  try {
    const real = join(realpathSync(dirname(path)), basename(path));
    lstatSync(real);
    return real;
  } catch {
    return undefined;
  }
}

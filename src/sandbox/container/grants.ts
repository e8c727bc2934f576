import { closeSync, fstatSync, openSync, readlinkSync } from 'node:fs';
import { errnoOf } from '../resolve-program.js';
import type { HandleList } from './handles.js';
import { type FilesystemPolicy, policyInvalid } from './policy.js';

const O_PATH = 0o10000000;
const O_NOFOLLOW = 0o400000;

type Kind = keyof FilesystemPolicy;

/**
 * Opens what a path names, and only that: the handle that was looked at is the one that is mounted, so nobody can put
 * something else there in between. A link anywhere in the path is refused, since what it leads to was not written down.
 */
function openExactly(path: string, field: string): { readonly handle: number; readonly kind: 'folder' | 'file' } {
  let handle: number;
  try {
    handle = openSync(path, O_PATH | O_NOFOLLOW);
  } catch (error) {
    throw policyInvalid(field, `names ${JSON.stringify(path)}, which cannot be opened (${errnoOf(error)})`);
  }
  try {
    const real = readlinkSync(`/proc/self/fd/${handle}`);
    const info = fstatSync(handle);
    if (info.isSymbolicLink() || real !== path) {
      const target = info.isSymbolicLink() ? readlinkSync(path) : real;
      throw policyInvalid(field, `names ${JSON.stringify(path)}, which is a link to elsewhere: grant ${target} itself`);
    }
    if (!info.isDirectory() && !info.isFile()) {
      throw policyInvalid(field, `names ${JSON.stringify(path)}, which is neither a folder nor a file`);
    }
    return { handle, kind: info.isDirectory() ? 'folder' : 'file' };
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

/** The arguments that mount what a policy grants, outer folders first, so that the inner ones are not covered. */
export function grantArguments(filesystem: FilesystemPolicy, handles: HandleList): string[] {
  const all = (['read', 'write', 'hide'] as const).flatMap((kind: Kind) =>
    filesystem[kind].map((path) => ({ path, kind })),
  );
  all.sort((a, b) => a.path.length - b.path.length);
  return all.flatMap(({ path, kind }) => {
    const opened = openExactly(path, `filesystem.${kind}`);
    if (kind !== 'hide') {
      return [kind === 'read' ? '--ro-bind-fd' : '--bind-fd', handles.add(opened.handle), path];
    }
    closeSync(opened.handle);
    if (opened.kind === 'folder') return ['--perms', '0000', '--tmpfs', path, '--remount-ro', path];
    // Mounts have no devices inside, so this one can be neither read nor written.
    return ['--ro-bind', '/dev/null', path];
  });
}

import { normalize } from 'node:path';

/** Folders whose content is the kernel's: inside they are private, and a grant of the machine's own would undo that. */
const KERNEL_FOLDERS = ['/proc', '/sys', '/dev'];

/** Tells whether a path is a folder or something in it. Both are normal. */
export function beneath(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`);
}

/** Why a path cannot be granted or hidden, as far as its text tells. */
export function pathProblem(path: string): string | undefined {
  if (typeof path !== 'string') return 'must be a string';
  if (path.includes('\0')) return 'must not contain a NUL character';
  if (!path.startsWith('/')) return 'must be an absolute path';
  if (path === '/') return 'must not be the root of the machine: grant what is needed of it';
  const normal = normalize(path).replace(/\/$/, '');
  if (normal !== path) return `must be written without detours: ${JSON.stringify(normal)}`;
  const kernel = KERNEL_FOLDERS.find((folder) => beneath(path, folder));
  return kernel === undefined ? undefined : `must not be in ${kernel}, which is private inside`;
}

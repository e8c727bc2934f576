import { chmod, lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Takes the right to write away from all folders of a tree. Its files are read-only since they were unpacked. Links are
 * not followed: what they lead to is not the tree's.
 */
export async function sealFolders(folder: string): Promise<void> {
  if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is no folder any more`);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await sealFolders(join(folder, entry.name));
  }
  await chmod(folder, 0o555);
}

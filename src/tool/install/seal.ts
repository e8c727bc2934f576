import { chmod, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** Takes the right to write away from all folders of a tree. Its files are read-only since they were unpacked. */
export async function sealFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await sealFolders(join(folder, entry.name));
  }
  await chmod(folder, 0o555);
}

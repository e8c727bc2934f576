import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

async function eachFolder(folder: string, mode: number, order: 'first' | 'last'): Promise<void> {
  if (order === 'first') await chmod(folder, mode);
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries) {
    if (entry.isDirectory()) await eachFolder(join(folder, entry.name), mode, order);
  }
  if (order === 'last') await chmod(folder, mode);
}

/** Takes the right to write away from all folders of a tree. Its files are read-only since they were unpacked. */
export async function sealFolders(folder: string): Promise<void> {
  await eachFolder(folder, 0o555, 'last');
}

/** Removes a folder, sealed or not. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    // Without the right to write into a folder, nothing in it can be removed. Root never gets here.
    await eachFolder(folder, 0o755, 'first').catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}

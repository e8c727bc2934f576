import { chmod, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

async function makeWritable(folder: string): Promise<void> {
  await chmod(folder, 0o755);
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (entry.isDirectory()) await makeWritable(join(folder, entry.name));
  }
}

/** Removes a folder and what is in it, also what may not be written. */
export async function removeTree(folder: string): Promise<void> {
  try {
    await rm(folder, { recursive: true, force: true });
  } catch {
    // Without the right to write into a folder, nothing in it can be removed. Root never gets here.
    await makeWritable(folder).catch(() => {});
    await rm(folder, { recursive: true, force: true });
  }
}

import { lstat, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { badRequest } from './errors.js';
import type { Gate } from './gate.js';
import type { Opened } from './opened.js';
import { codeOf } from './write.js';

/** Removes an entry of a folder. A link is removed, never what it leads to, not even one that is put there meanwhile. */
export async function removeEntry(
  gate: Gate,
  folder: Opened,
  name: string,
  recursion: 'recursive' | 'flat',
  maxDepth: number,
): Promise<void> {
  const path = folder.at(name);
  if (!(await lstat(path)).isDirectory()) await unlink(path);
  else if (recursion === 'flat') await rmdir(path);
  else await removeTree(gate, folder, Buffer.from(name).toString('latin1'), maxDepth);
}

async function removeTree(gate: Gate, outer: Opened, name: string, depth: number): Promise<void> {
  // A handle is held for each folder on the way down.
  if (depth === 0) throw badRequest('the tree is too deep to be removed at once');
  {
    await using folder = await gate.inner(outer, name, 'write');
    // What is removed while a folder is listed may hide other entries from the listing.
    for (let removed = 1; removed > 0; ) {
      removed = 0;
      for await (const entry of folder.entries()) {
        try {
          if (entry.isDirectory()) await removeTree(gate, folder, entry.name, depth - 1);
          else {
            const real = join(folder.real, Buffer.from(entry.name, 'latin1').toString());
            gate.checkFile(real, real, 'write');
            await unlink(folder.at(entry.name, 'latin1'));
          }
          removed += 1;
        } catch (error) {
          // Somebody else was faster.
          if (codeOf(error) !== 'ENOENT') throw error;
        }
      }
    }
  }
  await rmdir(outer.at(name, 'latin1'));
}

import { constants } from 'node:fs';
import { copyFile, lstat, mkdir, opendir, readlink, realpath, symlink } from 'node:fs/promises';
import { basename, dirname, join, sep } from 'node:path';
import { badRequest } from './errors.js';

/** Copies a file, a link as a link, or a folder with all that is in it. Links are never followed on the way. */
export async function copy(source: string, destination: string, recursion: 'recursive' | 'flat'): Promise<void> {
  const info = await lstat(source);
  if (info.isDirectory()) {
    if (recursion === 'flat') throw badRequest('fs/copy requires recursive: true when sourcePath is a directory');
    const [from, to] = [await realpath(source), await realParent(destination)];
    if (to === from || to.startsWith(from === sep ? sep : from + sep)) {
      throw badRequest('fs/copy cannot copy a directory to itself or one of its descendants');
    }
    await copyFolder(source, destination);
    return;
  }
  await copyEntry(source, destination, info);
}

/** The real place of a path that may not exist yet. */
async function realParent(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await realParent(parent), basename(path));
  }
}

async function copyFolder(source: string, destination: string): Promise<void> {
  await mkdir(destination, { recursive: true });
  for await (const entry of await opendir(source)) {
    const [from, to] = [join(source, entry.name), join(destination, entry.name)];
    if (entry.isDirectory()) await copyFolder(from, to);
    // Sockets, pipes and devices have no content to copy; a tree that holds some is copied without them.
    else if (entry.isFile() || entry.isSymbolicLink()) await copyEntry(from, to, entry);
  }
}

async function copyEntry(
  source: string,
  destination: string,
  kind: { isSymbolicLink(): boolean; isFile(): boolean },
): Promise<void> {
  if (kind.isSymbolicLink()) await symlink(await readlink(source), destination);
  else if (kind.isFile()) await copyFile(source, destination, constants.COPYFILE_FICLONE);
  else throw badRequest('fs/copy only supports regular files, directories, and symlinks');
}

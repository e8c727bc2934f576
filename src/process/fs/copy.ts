import { constants } from 'node:fs';
import { copyFile, type FileHandle, lstat, open, readlink, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { beneath } from '../../sandbox/index.js';
import { realPlace } from '../real-place.js';
import { badRequest } from './errors.js';
import type { Gate } from './gate.js';
import { HANDLES_HAVE_NAMES, type Opened, openAny } from './opened.js';
import { ensureFolder, makeFolder, openForWriting } from './write.js';

const OVERWRITE =
  constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

interface Kind {
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
  isFile(): boolean;
}

/** Copies a file, a link as a link, or a folder with all that is in it. Links are never followed on the way. */
export async function copy(
  gate: Gate,
  source: string,
  destination: string,
  options: { readonly recursion: 'recursive' | 'flat'; readonly maxDepth: number },
): Promise<void> {
  const { folder, name } = await gate.parent(source);
  await using from = folder;
  const kind = await lstat(from.at(name));
  if (kind.isDirectory()) {
    await using tree = await gate.readable(source);
    if (options.recursion === 'flat') {
      throw badRequest('fs/copy requires recursive: true when sourcePath is a directory');
    }
    if (beneath(realPlace(destination), tree.real)) {
      throw badRequest('fs/copy cannot copy a directory to itself or one of its descendants');
    }
    await using copied = await ensureFolder(gate, destination);
    gate.checkFolder(destination, copied.real, 'write');
    await copyTree(gate, tree, copied, options.maxDepth);
    return;
  }
  gate.checkFile(source, join(from.real, name), 'read');
  if (kind.isFile()) {
    await using file = await openAny(from.at(name), 'refuse');
    // Whoever copies a file onto itself must find it unchanged; the copy empties any other.
    await using target = await openForWriting(gate, destination, 'keep');
    await copyContent(file, target, destination);
    return;
  }
  await using to = await gate.writable(dirname(destination), destination);
  gate.checkFile(destination, join(to.real, basename(destination)), 'write');
  await copyLink(from.at(name), to.at(basename(destination)), kind);
}

async function copyTree(gate: Gate, from: Opened, to: Opened, depth: number): Promise<void> {
  // Two handles are held for each folder on the way down.
  if (depth === 0) throw badRequest('the tree is too deep to be copied at once');
  for await (const entry of from.entries()) {
    const { name } = entry;
    const real = join(to.real, Buffer.from(name, 'latin1').toString());
    if (entry.isDirectory()) {
      gate.checkFolder(real, real, 'write');
      await makeFolder(to, name, 'latin1');
      await using innerFrom = await gate.inner(from, name, 'read');
      await using innerTo = await gate.inner(to, name, 'write');
      await copyTree(gate, innerFrom, innerTo, depth - 1);
    } else if (entry.isFile()) {
      await using file = await openAny(from.at(name, 'latin1'), 'refuse');
      gate.checkFile(file.real, file.real, 'read');
      gate.checkFile(real, real, 'write');
      await using target = await open(to.at(name, 'latin1'), OVERWRITE, 0o666);
      await copyContent(file, target, real);
    } else if (entry.isSymbolicLink()) {
      gate.checkFile(real, real, 'write');
      await copyLink(from.at(name, 'latin1'), to.at(name, 'latin1'), entry);
    }
    // Sockets, pipes and devices have no content to copy; a tree that holds some is copied without them.
  }
}

async function copyContent(file: Opened, target: FileHandle, path: string): Promise<void> {
  if (!(await file.stat()).isFile()) throw badRequest('fs/copy only supports regular files, directories, and symlinks');
  // Both are opened once more, and waited for: a FIFO would never let go of the thread.
  if (!(await target.stat()).isFile()) throw badRequest(`path \`${path}\` is not a file`);
  await copyFile(file.address, HANDLES_HAVE_NAMES ? `/proc/self/fd/${target.fd}` : path, constants.COPYFILE_FICLONE);
}

async function copyLink(from: Buffer, to: Buffer, kind: Kind): Promise<void> {
  if (!kind.isSymbolicLink()) throw badRequest('fs/copy only supports regular files, directories, and symlinks');
  await symlink(await readlink(from, { encoding: 'buffer' }), to);
}

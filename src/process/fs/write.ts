import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { badRequest } from './errors.js';
import type { Gate } from './gate.js';
import { LINKS_MAX, type Opened, openAny, openFolder } from './opened.js';

const CREATE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW | constants.O_NOCTTY;

/** The `code` of an error of the system. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

/** Opens what is to be written: a file that is there, or a new one, also behind links that lead nowhere yet. */
export async function openForWriting(gate: Gate, path: string, content: 'empty' | 'keep'): Promise<FileHandle> {
  let target = path;
  for (let hop = 0; hop < LINKS_MAX; hop += 1) {
    const there = await openAny(target).catch((error: unknown) => {
      if (codeOf(error) !== 'ENOENT') throw error;
    });
    if (there !== undefined) {
      await using file = there;
      gate.checkFile(path, file.real, 'write');
      // Opening a FIFO would wait for a reader, and a device might act.
      if (!(await file.stat()).isFile()) throw badRequest(`path \`${path}\` is not a file`);
      return await file.write(content);
    }
    await using folder = await gate.writable(dirname(target), path);
    gate.checkFile(path, join(folder.real, basename(target)), 'write');
    const entry = folder.at(basename(target));
    try {
      return await open(entry, CREATE, 0o666);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    // Either a link that leads nowhere, or somebody was faster.
    const link = await readlink(entry).catch(() => undefined);
    if (link !== undefined) target = resolve(folder.real, link);
  }
  throw badRequest(`path \`${path}\` has too many links`);
}

/** Opens a folder, and makes it first if it is not there, with those around it. */
export async function ensureFolder(gate: Gate, path: string): Promise<Opened> {
  const missing: string[] = [];
  let at = path;
  let found: Opened | undefined;
  while (found === undefined) {
    found = await openFolder(at).catch(async (error: unknown) => {
      if (codeOf(error) === 'ENOTDIR' && at === path) return makeFolderAnyway(gate, path);
      if (codeOf(error) !== 'ENOENT' || dirname(at) === at) throw error;
      return undefined;
    });
    if (found !== undefined) break;
    missing.push(basename(at));
    at = dirname(at);
  }
  let folder = found;
  for (const name of missing.reverse()) {
    await using outer = folder;
    gate.checkFolder(path, outer.real, 'write');
    gate.checkFolder(path, join(outer.real, name), 'write');
    await makeFolder(outer, name, 'utf8');
    folder = await openFolder(outer.at(name), 'refuse');
  }
  return folder;
}

/** Lets the system say why a folder cannot be made where something else is. */
async function makeFolderAnyway(gate: Gate, path: string): Promise<Opened> {
  await using outer = await gate.writable(dirname(path), path);
  gate.checkFolder(path, join(outer.real, basename(path)), 'write');
  await mkdir(outer.at(basename(path)));
  return openFolder(outer.at(basename(path)), 'refuse');
}

/** Makes a folder, unless one is there. */
export async function makeFolder(outer: Opened, name: string, encoding: 'utf8' | 'latin1'): Promise<void> {
  try {
    await mkdir(outer.at(name, encoding));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

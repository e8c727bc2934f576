import type { Stats } from 'node:fs';
import { lstat, mkdir, opendir, realpath, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { join, parse } from 'node:path';
import type { ProcessLimits } from '../limits.js';
import { copy } from './copy.js';
import { badRequest } from './errors.js';
import { openRegularFile } from './open-file.js';
import { type WalkOptions, type WalkResult, walk } from './walk.js';

export interface FileMetadata {
  readonly isDirectory: boolean;
  readonly isFile: boolean;
  readonly isSymlink: boolean;
  readonly size: number;
  readonly createdAtMs: number;
  readonly modifiedAtMs: number;
}

export interface DirectoryEntry {
  readonly fileName: string;
  readonly isDirectory: boolean;
  readonly isFile: boolean;
}

/** The files of this machine, as the protocol asks for them. Paths are native and absolute. */
export class FileSystem {
  readonly #limits: ProcessLimits;

  constructor(limits: ProcessLimits) {
    this.#limits = limits;
  }

  /** Reads a whole file, or refuses one that is too large for a single message. */
  async readFile(path: string): Promise<Buffer> {
    const limit = this.#limits.readFileBytes;
    const { file, size } = await openRegularFile(path);
    try {
      if (size > limit) throw tooLarge(path, limit);
      const chunks: Buffer[] = [];
      let total = 0;
      // Files of /proc say 0 and have content, and others grow while they are read.
      for (;;) {
        const chunk = Buffer.allocUnsafe(Math.min(Math.max(size - total, 4_096), this.#limits.readBlockBytes));
        const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
        if (bytesRead === 0) return Buffer.concat(chunks, total);
        total += bytesRead;
        if (total > limit) throw tooLarge(path, limit);
        chunks.push(chunk.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<void> {
    const there = await stat(path).catch(() => undefined);
    // Opening a FIFO would wait for a reader, and a device might act.
    if (there !== undefined && !there.isFile()) throw badRequest(`path \`${path}\` is not a file`);
    await writeFile(path, bytes);
  }

  async createDirectory(path: string, parents: 'recursive' | 'flat'): Promise<void> {
    await mkdir(path, { recursive: parents === 'recursive' });
  }

  /** Describes what a path leads to, and whether it is a link itself. */
  async getMetadata(path: string): Promise<FileMetadata> {
    const own = await lstat(path);
    const target: Stats = own.isSymbolicLink() ? await stat(path) : own;
    return {
      isDirectory: target.isDirectory(),
      isFile: target.isFile(),
      isSymlink: own.isSymbolicLink(),
      size: target.size,
      createdAtMs: Math.max(0, Math.trunc(target.birthtimeMs)),
      modifiedAtMs: Math.trunc(target.mtimeMs),
    };
  }

  canonicalize(path: string): Promise<string> {
    return realpath(path);
  }

  /** Lists a folder; links are described by what they lead to, and left out when that is nothing. */
  async readDirectory(path: string): Promise<DirectoryEntry[]> {
    const limit = this.#limits.directoryEntries;
    const entries: DirectoryEntry[] = [];
    for await (const entry of await opendir(path)) {
      const info = entry.isSymbolicLink() ? await stat(join(path, entry.name)).catch(() => undefined) : entry;
      if (info === undefined) continue;
      if (entries.length >= limit) throw badRequest(`directory \`${path}\` has more than ${limit} entries`);
      entries.push({ fileName: entry.name, isDirectory: info.isDirectory(), isFile: info.isFile() });
    }
    return entries;
  }

  walk(path: string, options: WalkOptions): Promise<WalkResult> {
    return walk(path, options, this.#limits);
  }

  /** Removes a path. A link is removed, never what it leads to. */
  async remove(path: string, recursion: 'recursive' | 'flat', missing: 'ignore' | 'refuse'): Promise<void> {
    if (parse(path).root === path) throw badRequest('the root folder cannot be removed');
    try {
      const info = await lstat(path);
      if (!info.isDirectory()) await unlink(path);
      else if (recursion === 'recursive') await rm(path, { recursive: true });
      else await rmdir(path);
    } catch (error) {
      const gone = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!gone || missing === 'refuse') throw error;
    }
  }

  copy(source: string, destination: string, recursion: 'recursive' | 'flat'): Promise<void> {
    return copy(source, destination, recursion);
  }
}

function tooLarge(path: string, limit: number): Error {
  return badRequest(`file \`${path}\` is larger than ${limit} bytes: use fs/open and fs/readBlock`);
}

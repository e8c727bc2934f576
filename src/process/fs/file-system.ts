import type { Stats } from 'node:fs';
import { type FileHandle, lstat, mkdir } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ExecError } from '../exec-error.js';
import type { ProcessLimits } from '../limits.js';
import { copy } from './copy.js';
import { badRequest } from './errors.js';
import { Gate } from './gate.js';
import { type Opened, openAny } from './opened.js';
import { removeEntry } from './remove.js';
import { EVERYTHING, type FileScope } from './scope.js';
import { type WalkOptions, type WalkResult, walk } from './walk.js';
import { codeOf, ensureFolder, openForWriting } from './write.js';

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

/** What goes with a request that only reads. */
export interface Reading {
  /** Aborted when nobody waits for the answer any more. */
  readonly signal?: AbortSignal;
  /** Resolves when there is room for so much content. */
  readonly reserve?: (bytes: number) => Promise<void>;
}

/** The files of this machine, as the protocol asks for them. Paths are native and absolute. */
export class FileSystem {
  readonly #limits: ProcessLimits;
  readonly #gate: Gate;

  constructor(limits: ProcessLimits, scope: FileScope = EVERYTHING) {
    this.#limits = limits;
    this.#gate = new Gate(scope);
  }

  /** Opens a regular file for reading. Anything else is refused without waiting for it: a FIFO would block, a device may act. */
  open(path: string): Promise<FileHandle> {
    return this.#gate.about(path, 'read', async (resolved) => {
      await using opened = await this.#gate.open(resolved);
      if (!(await opened.stat()).isFile()) throw badRequest(`path \`${path}\` is not a file`);
      return await opened.read();
    });
  }

  /** Reads a whole file, or refuses one that is too large for a single message. */
  async readFile(path: string, reading: Reading = {}): Promise<Buffer> {
    const limit = this.#limits.readFileBytes;
    await using file = await this.open(path);
    const { size } = await file.stat();
    if (size > limit) throw tooLarge(path, limit);
    await reading.reserve?.(size);
    const chunks: Buffer[] = [];
    let total = 0;
    // Files of /proc say 0 and have content, and others grow while they are read.
    for (;;) {
      reading.signal?.throwIfAborted();
      const chunk = Buffer.allocUnsafe(Math.min(Math.max(size - total, 4_096), this.#limits.readBlockBytes));
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return Buffer.concat(chunks, total);
      total += bytesRead;
      if (total > limit) throw tooLarge(path, limit);
      chunks.push(chunk.subarray(0, bytesRead));
    }
  }

  writeFile(path: string, bytes: Uint8Array): Promise<void> {
    return this.#gate.about(path, 'write', async (resolved) => {
      await using file = await openForWriting(this.#gate, resolved, 'empty');
      await file.writeFile(bytes);
    });
  }

  createDirectory(path: string, parents: 'recursive' | 'flat'): Promise<void> {
    return this.#gate.about(path, 'write', async (resolved) => {
      if (parents === 'flat') {
        await using outer = await this.#gate.writable(dirname(resolved), path);
        this.#gate.checkFolder(path, join(outer.real, basename(resolved)), 'write');
        await mkdir(outer.at(basename(resolved)));
        return;
      }
      await using folder = await ensureFolder(this.#gate, resolved);
      // A folder that is there need not be written to; but one that must not be seen is refused as if it were not there.
      const need = this.#gate.sees(folder.real, 'folder') ? 'read' : 'write';
      this.#gate.checkFolder(path, folder.real, need);
    });
  }

  /** Describes what a path leads to, and whether it is a link itself. */
  getMetadata(path: string): Promise<FileMetadata> {
    return this.#gate.about(path, 'read', async (resolved) => {
      const { folder, name, real } = await this.#gate.parent(resolved);
      await using outer = folder;
      const own = await lstat(outer.at(name));
      const isSymlink = own.isSymbolicLink();
      if (own.isDirectory()) this.#gate.checkFolder(path, real, 'read');
      else this.#gate.checkFile(path, real, 'read');
      return { ...describe(isSymlink ? await this.#behind(resolved) : own), isSymlink };
    });
  }

  canonicalize(path: string): Promise<string> {
    return this.#gate.about(path, 'read', async (resolved) => {
      await using opened = await this.#gate.open(resolved);
      return opened.real;
    });
  }

  /** Lists a folder; links are described by what they lead to, and left out when that is nothing. */
  readDirectory(path: string, { signal }: Reading = {}): Promise<DirectoryEntry[]> {
    return this.#gate.about(path, 'read', async (resolved) => {
      await using folder = await this.#gate.readable(resolved);
      const limit = this.#limits.directoryEntries;
      const entries: DirectoryEntry[] = [];
      for await (const entry of folder.entries()) {
        signal?.throwIfAborted();
        const info = entry.isSymbolicLink() ? await this.#linked(folder, entry.name) : entry;
        if (info === undefined) continue;
        if (entries.length >= limit) throw badRequest(`directory \`${path}\` has more than ${limit} entries`);
        const fileName = Buffer.from(entry.name, 'latin1').toString();
        entries.push({ fileName, isDirectory: info.isDirectory(), isFile: info.isFile() });
      }
      return entries;
    });
  }

  walk(path: string, options: WalkOptions, { signal }: Reading = {}): Promise<WalkResult> {
    return this.#gate.about(path, 'read', (resolved) => walk(this.#gate, resolved, options, this.#limits, signal));
  }

  /** Removes a path. A link is removed, never what it leads to. */
  remove(path: string, recursion: 'recursive' | 'flat', missing: 'ignore' | 'refuse'): Promise<void> {
    return this.#gate.about(path, 'write', async (resolved) => {
      if (dirname(resolved) === resolved) throw badRequest('the root folder cannot be removed');
      try {
        await using folder = await this.#gate.writable(dirname(resolved), path);
        this.#gate.checkFile(path, join(folder.real, basename(resolved)), 'write');
        await removeEntry(this.#gate, folder, basename(resolved), recursion, this.#limits.treeDepth);
      } catch (error) {
        if (codeOf(error) !== 'ENOENT' || missing === 'refuse') throw error;
        // Of what must not be seen, nothing tells whether it is there: neither a refusal nor a success.
        await this.#gate.checkWay(path, 'write');
      }
    });
  }

  copy(source: string, destination: string, recursion: 'recursive' | 'flat'): Promise<void> {
    const maxDepth = this.#limits.treeDepth;
    return this.#gate.about(source, 'read', async (from) => {
      try {
        await copy(this.#gate, from, resolve(destination), { recursion, maxDepth });
      } catch (error) {
        if (error instanceof ExecError) throw error;
        // Either path may be the one that failed.
        await this.#gate.checkWay(source, 'read');
        await this.#gate.checkWay(destination, 'write');
        throw error;
      }
    });
  }

  async #behind(path: string): Promise<Stats> {
    await using opened = await this.#gate.open(path);
    return await opened.stat();
  }

  async #linked(folder: Opened, name: string): Promise<Stats | undefined> {
    try {
      await using opened = await openAny(folder.at(name, 'latin1'));
      const info = await opened.stat();
      return this.#gate.sees(opened.real, info.isDirectory() ? 'folder' : 'file') ? info : undefined;
    } catch {
      return undefined;
    }
  }
}

function describe(info: Stats): Omit<FileMetadata, 'isSymlink'> {
  return {
    isDirectory: info.isDirectory(),
    isFile: info.isFile(),
    size: info.size,
    createdAtMs: Math.max(0, Math.trunc(info.birthtimeMs)),
    modifiedAtMs: Math.trunc(info.mtimeMs),
  };
}

function tooLarge(path: string, limit: number): Error {
  return badRequest(`file \`${path}\` is larger than ${limit} bytes: use fs/open and fs/readBlock`);
}

import { readlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { ExecError } from '../exec-error.js';
import type { Access } from '../workspace.js';
import { asFsRefusal, badRequest } from './errors.js';
import { HANDLES_HAVE_NAMES, LINKS_MAX, type Opened, openAny, openFolder } from './opened.js';
import { EVERYTHING, type FileScope } from './scope.js';

/** Opens files and folders, if they are in scope. What was opened is what is judged, so links cannot lead astray. */
export class Gate {
  readonly #scope: FileScope;

  constructor(scope: FileScope) {
    if (scope !== EVERYTHING && !HANDLES_HAVE_NAMES) throw badRequest('files can only be confined on Linux with /proc');
    this.#scope = scope;
  }

  /** Opens whatever is at a path, if it may be seen. */
  async open(path: string): Promise<Opened> {
    const opened = await openAny(path);
    return this.#keep(opened, async () => {
      if ((await opened.stat()).isDirectory()) this.checkFolder(path, opened.real, 'read');
      else this.checkFile(path, opened.real, 'read');
    });
  }

  /** Opens a folder that may be listed. */
  async readable(path: string): Promise<Opened> {
    const opened = await openFolder(path);
    return this.#keep(opened, async () => this.checkFolder(path, opened.real, 'read'));
  }

  /** Opens the folder that something is to be made or removed in. A refusal speaks of that, whatever is wrong. */
  async writable(folder: string, entry: string): Promise<Opened> {
    const opened = await openFolder(folder);
    return this.#keep(opened, async () => this.checkFolder(entry, opened.real, 'write'));
  }

  /** Opens the folder that an entry is in, and tells where the entry really is. The folder itself may be hidden. */
  async parent(path: string): Promise<{ readonly folder: Opened; readonly name: string; readonly real: string }> {
    const folder = await openFolder(dirname(path));
    const name = basename(path);
    return { folder, name, real: join(folder.real, name) };
  }

  /** Opens a folder in a folder that is open already, never through a link, if it allows as much. */
  async inner(outer: Opened, name: string, need: 'read' | 'write'): Promise<Opened> {
    const opened = await openFolder(outer.at(name, 'latin1'), 'refuse');
    return this.#keep(opened, async () => {
      this.checkFolder(opened.real, opened.real, need);
    });
  }

  /** Whether something may be seen, by its real place. */
  sees(real: string, kind: 'folder' | 'file'): boolean {
    return (kind === 'folder' ? this.#scope.folder(real) : this.#scope.file(real)) !== 'none';
  }

  /** Refuses a file by its real place, unless it allows as much. */
  checkFile(path: string, real: string, need: 'read' | 'write'): void {
    check(path, this.#scope.file(real), need);
  }

  /** Refuses a folder by its real place, unless it allows as much. */
  checkFolder(path: string, real: string, need: 'read' | 'write'): void {
    check(path, this.#scope.folder(real), need);
  }

  /** Runs something about a path, and makes a refusal of what goes wrong, in words about that path. */
  async about<Result>(path: string, need: 'read' | 'write', work: (path: string) => Promise<Result>): Promise<Result> {
    try {
      return await work(resolve(path));
    } catch (error) {
      if (error instanceof ExecError) throw error;
      await this.checkWay(path, need);
      throw asFsRefusal(error, path);
    }
  }

  /**
   * Refuses a path that cannot be opened, if it leads to where nothing may be seen, with the words for something that is
   * there: errors must not tell one from the other.
   */
  async checkWay(path: string, need: 'read' | 'write'): Promise<void> {
    if (this.#scope !== EVERYTHING && !(await this.#deepest(path))) check(path, 'none', need);
  }

  /** Whether the last thing on the way to a path that is there may be seen. Links lead on, also those to nowhere. */
  async #deepest(path: string): Promise<boolean> {
    let at = resolve(path);
    for (let links = 0; ; ) {
      try {
        await using opened = await openAny(at);
        return this.sees(opened.real, (await opened.stat()).isDirectory() ? 'folder' : 'file');
      } catch {
        if (at === '/') return false;
      }
      const target = links < LINKS_MAX ? await linkAt(at) : undefined;
      if (target !== undefined) links += 1;
      at = target ?? dirname(at);
    }
  }

  async #keep(opened: Opened, check: () => Promise<void>): Promise<Opened> {
    try {
      await check();
      return opened;
    } catch (error) {
      await opened[Symbol.asyncDispose]();
      throw error;
    }
  }
}

function check(path: string, access: Access, need: 'read' | 'write'): void {
  if (access === 'none' && need === 'read') throw notVisible(path);
  if (access === 'write' || need === 'read') return;
  throw badRequest(`path \`${path}\` cannot be written to: it is in no workspace of commands`);
}

/** Where a link leads, if there is one. */
async function linkAt(path: string): Promise<string | undefined> {
  try {
    await using folder = await openFolder(dirname(path));
    return resolve(folder.real, await readlink(folder.at(basename(path))));
  } catch {
    return undefined;
  }
}

function notVisible(path: string): ExecError {
  return new ExecError('notFound', `path \`${path}\` is not visible to commands: it is in no workspace of theirs`);
}

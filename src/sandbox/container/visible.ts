import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { DEFAULT_SEARCH_PATH } from '../limits.js';
import type { Command } from '../request.js';
import { checkFolder, obstacle, resolveProgram, spawnFailed } from '../resolve-program.js';
import { beneath } from './paths.js';
import type { FilesystemPolicy } from './policy.js';

/** Folders that are always there inside, empty and private. */
export const PRIVATE_FOLDERS: readonly string[] = [
  '/',
  '/tmp',
  '/home',
  '/var/tmp',
  '/run',
  '/var',
  '/etc',
  '/dev',
  '/proc',
];

/** Tells which files of the machine a confined program sees. */
export class Visibility {
  readonly #roots: readonly string[];
  readonly #hidden: readonly string[];

  constructor(systemRoots: readonly string[], filesystem: FilesystemPolicy) {
    this.#roots = [...systemRoots, ...filesystem.read, ...filesystem.write];
    this.#hidden = filesystem.hide;
  }

  #shows(path: string): boolean {
    return this.#roots.some((root) => beneath(path, root)) && !this.#hidden.some((hidden) => beneath(path, hidden));
  }

  /** Finds the program of a command among what is visible. Throws SPAWN_FAILED. */
  program(command: Command): string {
    const [name] = command.argv;
    const { cwd, env } = command;
    const folders = (env.get('PATH') ?? DEFAULT_SEARCH_PATH).split(':').map((folder) => resolve(cwd, folder));
    const search = folders.filter((folder) => this.#shows(folder)).join(':');
    // Said of everything out there, whether it is there or not.
    if (name.includes('/') && !this.#shows(resolve(cwd, name))) {
      throw spawnFailed(`${JSON.stringify(name)}: ${resolve(cwd, name)} is not visible inside`, 'ENOENT');
    }
    const visible = new Map([['PATH', search === '' ? '/nonexistent' : search]]);
    return resolveProgram(name, visible, cwd, (path) => this.#obstacle(path));
  }

  /** What is behind a link must be visible too, or the kernel would not find it. What is not there and what is hidden look alike. */
  #obstacle(path: string): string | undefined {
    let real: string;
    try {
      real = realpathSync(path);
    } catch {
      return 'ENOENT';
    }
    return this.#shows(path) && this.#shows(real) ? obstacle(real) : 'ENOENT';
  }

  /** Checks that a command can start where it wants to. Throws SPAWN_FAILED. */
  checkFolder(cwd: string): void {
    const normal = resolve(cwd);
    if (this.#shows(normal)) return checkFolder(normal);
    if (PRIVATE_FOLDERS.includes(normal)) return;
    throw spawnFailed(`a program in the folder ${JSON.stringify(cwd)}, which is not visible inside`, 'ENOENT');
  }
}

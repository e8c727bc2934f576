import { accessSync, closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { SallyportError } from '../errors/index.js';
import { DEFAULT_SEARCH_PATH, SYSTEM_SEARCH_PATH } from './limits.js';

/** The longest first line that the kernel looks at for `#!`. */
const SHEBANG_BYTES = 256;

const REASONS = new Map([
  ['ENOENT', 'no such file or directory'],
  ['EACCES', 'permission denied'],
  ['ENOTDIR', 'not a directory'],
  ['ELOOP', 'too many levels of symbolic links'],
  ['ENAMETOOLONG', 'file name too long'],
  ['E2BIG', 'argument list too long'],
  ['ENOEXEC', 'exec format error'],
  ['EAGAIN', 'resource temporarily unavailable'],
  ['EMFILE', 'too many open files'],
  ['ENFILE', 'too many open files in system'],
  ['ENOMEM', 'cannot allocate memory'],
]);

/** The `code` of an error of the system, such as ENOENT. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'EIO';
}

/** Says that the system refused, with its reason. */
export function spawnFailed(subject: string, errno: string, cause?: unknown): SallyportError {
  const reason = REASONS.get(errno) ?? 'refused by the system';
  return new SallyportError('SPAWN_FAILED', `cannot start ${subject}: ${reason} (${errno})`, { errno }, { cause });
}

/** Why a path cannot be run as a program, or nothing when it can. */
export type Obstacle = (path: string) => string | undefined;

/** The obstacle for whoever sees all of the machine. */
export function obstacle(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return 'EACCES';
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    return errnoOf(error);
  }
}

/** The interpreter named in a script's first line. */
function interpreterOf(path: string): string | undefined {
  let handle: number;
  try {
    // Whoever can write to the folder may have put a FIFO in its place by now, which must not be waited for.
    handle = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch {
    // A program may be executable and yet unreadable.
    return undefined;
  }
  try {
    if (!fstatSync(handle).isFile()) return undefined;
    const head = Buffer.alloc(SHEBANG_BYTES);
    const line = head.toString('latin1', 0, readSync(handle, head)).split('\n', 1)[0] ?? '';
    return /^#![ \t]*(\S+)/.exec(line)?.[1];
  } finally {
    closeSync(handle);
  }
}

/** Finds a file by the rule of execvp: a name with a slash is a path, any other is searched for, never in our own PATH. */
export function findProgram(
  name: string,
  searchPath: string,
  cwd: string,
  obstacleOf: Obstacle = obstacle,
): { readonly ok: true; readonly file: string } | { readonly ok: false; readonly errno: string } {
  if (name === '') return { ok: false, errno: 'ENOENT' };
  if (name.includes('/')) {
    const file = resolve(cwd, name);
    const errno = obstacleOf(file);
    return errno === undefined ? { ok: true, file } : { ok: false, errno };
  }
  let refused = false;
  for (const folder of searchPath.split(':')) {
    const file = resolve(cwd, folder, name);
    const errno = obstacleOf(file);
    if (errno === undefined) return { ok: true, file };
    if (errno === 'EACCES') refused = true;
  }
  return { ok: false, errno: refused ? 'EACCES' : 'ENOENT' };
}

/** Finds the program that a request names, in the PATH of the environment it brings. Throws SPAWN_FAILED. */
export function resolveProgram(
  name: string,
  env: ReadonlyMap<string, string>,
  cwd: string,
  obstacleOf: Obstacle = obstacle,
): string {
  const found = findProgram(name, env.get('PATH') ?? DEFAULT_SEARCH_PATH, cwd, obstacleOf);
  if (!found.ok) throw spawnFailed(JSON.stringify(name), found.errno);
  const interpreter = interpreterOf(found.file);
  if (interpreter !== undefined) {
    const errno = obstacleOf(resolve(cwd, interpreter));
    if (errno !== undefined) throw spawnFailed(`${JSON.stringify(name)}: its interpreter ${interpreter}`, errno);
  }
  return found.file;
}

/**
 * Finds a tool that Sallyport itself runs: in the PATH that the operator started it with, of which only absolute folders
 * count, and never in one that a request brought along.
 */
export function findSystemTool(name: string, ownPath = process.env['PATH'] ?? ''): string | undefined {
  const folders = ownPath.split(':').filter(isAbsolute);
  const found = findProgram(name, folders.length > 0 ? folders.join(':') : SYSTEM_SEARCH_PATH, '/');
  return found.ok ? found.file : undefined;
}

/** Checks that a folder can be a working directory. Throws SPAWN_FAILED. */
export function checkFolder(cwd: string): void {
  let errno: string | undefined;
  try {
    if (statSync(cwd).isDirectory()) accessSync(cwd, constants.X_OK);
    else errno = 'ENOTDIR';
  } catch (error) {
    errno = errnoOf(error);
  }
  if (errno !== undefined) throw spawnFailed(`a program in the folder ${JSON.stringify(cwd)}`, errno);
}

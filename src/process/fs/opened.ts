import { constants, type Dirent, existsSync, type PathLike, type Stats } from 'node:fs';
import { type FileHandle, open, opendir, readlink, realpath } from 'node:fs/promises';

/** Opens a name without reading, writing or waking what it names: a device does not act, a FIFO does not wait. */
const O_PATH = 0o10000000;

/** As many links as the kernel follows in one path. */
export const LINKS_MAX = 40;

/** Whether an open file can be reached again by its handle, whatever has become of its name. */
export const HANDLES_HAVE_NAMES = process.platform === 'linux' && existsSync('/proc/self/fd');

/**
 * A file or folder that was opened by name once. What is done to it from then on goes through the handle, so whoever
 * puts a link in the place of its name, or of a folder on the way, changes nothing any more.
 *
 * Without a file system of processes, which only Linux has, it goes by the name again.
 */
export class Opened implements AsyncDisposable {
  /** The place of it, as the system knows it: without links and detours. */
  readonly real: string;
  /** A path that leads to this very file or folder; with `/name` appended, to what is in it. */
  readonly address: string;
  readonly #handle: FileHandle | undefined;

  constructor(handle: FileHandle | undefined, real: string, address: string) {
    this.#handle = handle;
    this.real = real;
    this.address = address;
  }

  /** The path of something in this folder, by its plain name. Names from a listing may be any bytes: those are latin1. */
  at(name: string, encoding: 'utf8' | 'latin1' = 'utf8'): Buffer {
    return Buffer.concat([Buffer.from(this.address === '/' ? '/' : `${this.address}/`), Buffer.from(name, encoding)]);
  }

  /** Lists what is in this folder, by names in latin1: one character for each byte, so that none is lost. */
  async *entries(): AsyncGenerator<Dirent> {
    yield* await opendir(this.address, { encoding: 'latin1' });
  }

  /** Describes it, and never something else. */
  async stat(): Promise<Stats> {
    if (this.#handle !== undefined) return this.#handle.stat();
    await using again = await this.read();
    return again.stat();
  }

  /** Opens it for reading. Nothing is waited for: a FIFO without a writer is empty. */
  read(): Promise<FileHandle> {
    return open(this.address, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  }

  /** Opens it for writing. */
  write(content: 'empty' | 'keep'): Promise<FileHandle> {
    const flags = constants.O_WRONLY | constants.O_NONBLOCK | constants.O_NOCTTY;
    return open(this.address, content === 'empty' ? flags | constants.O_TRUNC : flags);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle?.close();
  }
}

/** What to make of links: the last part of a path may be one, or must not. */
export type Links = 'follow' | 'refuse';

/** Opens whatever a path names. */
export function openAny(path: PathLike, links: Links = 'follow'): Promise<Opened> {
  return openAs(path, links === 'follow' ? 0 : constants.O_NOFOLLOW);
}

/** Opens a folder. Anything else is ENOTDIR. */
export function openFolder(path: PathLike, links: Links = 'follow'): Promise<Opened> {
  return openAs(path, constants.O_DIRECTORY | (links === 'follow' ? 0 : constants.O_NOFOLLOW));
}

async function openAs(path: PathLike, flags: number): Promise<Opened> {
  if (!HANDLES_HAVE_NAMES) {
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
    await handle.close();
    const real = await realpath(path);
    return new Opened(undefined, real, real);
  }
  const handle = await open(path, O_PATH | flags);
  try {
    const address = `/proc/self/fd/${handle.fd}`;
    return new Opened(handle, await readlink(address), address);
  } catch (error) {
    await handle.close();
    throw error;
  }
}

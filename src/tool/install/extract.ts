import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import pacote, { type TarballStream } from 'pacote';
import { Parser, type ReadEntry } from 'tar';
import { InstallError } from './install-problem.js';
import type { NpmOptions } from './npm-config.js';

/** What a whole tree may still take. Charged from the headers of a tarball, before anything is written. */
export interface TreeBudget {
  files: number;
  bytes: number;
}

/** Names longer than this cannot be created anyway. */
const MAX_PATH_CHARACTERS = 1_024;
const PLAIN_FILE = /^(File|OldFile|ContiguousFile)$/;

/** Where an entry goes below its package, or nothing when its name leads elsewhere. The first folder is the tarball's own. */
function placeOf(path: string): string | undefined {
  const steps = path
    .replaceAll('\\', '/')
    .split('/')
    .slice(1)
    .filter((step) => step !== '' && step !== '.');
  if (steps.length === 0 || steps.includes('..') || path.includes('\0')) return undefined;
  return steps.join('/');
}

/**
 * Writes the files of one package, as they come, and charges the tree for them. Nothing it creates is a link, so no path
 * through it leads outside.
 */
class Writer {
  readonly #folder: string;
  readonly #write: number;
  readonly #budget: TreeBudget;
  readonly #folders = new Set<string>();
  readonly #files = new Set<string>();
  readonly #charged: TreeBudget = { files: 0, bytes: 0 };
  /** The file that is being written. A tarball has one at a time. */
  #handle: number | undefined;

  constructor(source: PackageSource, budget: TreeBudget) {
    this.#folder = source.folder;
    this.#write = source.files === 'writable' ? 0o200 : 0;
    this.#budget = budget;
  }

  /** Charges for a file before it is written. Returns what is exceeded. */
  charge(bytes: number): keyof TreeBudget | undefined {
    this.#budget.files -= 1;
    this.#budget.bytes -= bytes;
    this.#charged.files += 1;
    this.#charged.bytes += bytes;
    return this.#budget.files < 0 ? 'files' : this.#budget.bytes < 0 ? 'bytes' : undefined;
  }

  /** Begins a file. */
  open(place: string, mode: number): void {
    const file = join(this.#folder, place);
    const folder = dirname(file);
    if (!this.#folders.has(folder)) {
      mkdirSync(folder, { recursive: true });
      this.#folders.add(folder);
    }
    // A name that comes twice: the last one counts, as everywhere.
    if (this.#files.has(file)) rmSync(file, { force: true });
    this.#files.add(file);
    this.#handle = openSync(file, 'wx', ((mode & 0o111) !== 0 ? 0o555 : 0o444) | this.#write);
  }

  write(chunk: Buffer): void {
    if (this.#handle === undefined) return;
    for (let sent = 0; sent < chunk.length; ) sent += writeSync(this.#handle, chunk, sent);
  }

  close(): void {
    const handle = this.#handle;
    this.#handle = undefined;
    if (handle !== undefined) closeSync(handle);
  }

  /** Takes everything back, so that the package can be unpacked again, or done without. */
  discard(): void {
    this.close();
    for (const file of this.#files) rmSync(file, { force: true });
    this.#files.clear();
    this.#budget.files += this.#charged.files;
    this.#budget.bytes += this.#charged.bytes;
    this.#charged.files = 0;
    this.#charged.bytes = 0;
  }
}

/**
 * Unpacks one package into a folder. Only plain files are written: links, devices and whatever else a tarball may hold
 * are left out, as npm does; modes come down to readable, and executable where the tarball says so. Files are written
 * without going through the event loop: this process has nothing to answer, and thousands of small files are several
 * times faster this way.
 */
function unpack(tarball: TarballStream, writer: Writer, label: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let failed = false;
    const fail = (error: unknown): void => {
      if (failed) return;
      failed = true;
      tarball.destroy?.();
      reject(error);
    };
    const take = (entry: ReadEntry): void => {
      const place = placeOf(entry.path);
      if (failed || place === undefined || !PLAIN_FILE.test(entry.type)) {
        entry.resume();
        return;
      }
      const exceeded = writer.charge(entry.size);
      const problem =
        place.length > MAX_PATH_CHARACTERS
          ? new InstallError('tarball', `${label} has a file name of ${place.length} characters`)
          : exceeded === 'files'
            ? new InstallError('limits', `the tree has too many files; ${label} is over the limit`)
            : exceeded === 'bytes'
              ? new InstallError('limits', `the tree is too large; ${label} is over the limit`)
              : undefined;
      if (problem !== undefined) {
        fail(problem);
        entry.resume();
        return;
      }
      try {
        writer.open(place, entry.mode ?? 0);
        entry.on('data', (chunk: Buffer) => writer.write(chunk));
        entry.on('end', () => writer.close());
      } catch (error) {
        fail(error);
        entry.resume();
      }
    };
    const parser = new Parser({
      onReadEntry: take,
      onwarn: (code, message, data) => {
        if (code === 'TAR_BAD_ARCHIVE' || code === 'TAR_ABORT' || data?.['recoverable'] === false) {
          fail(new InstallError('tarball', `${label}: ${String(message)}`));
        }
      },
    });
    parser.on('error', fail);
    parser.on('end', () => {
      if (!failed) resolve();
    });
    tarball.on('error', fail);
    tarball.on('data', (chunk) => {
      if (failed) return;
      try {
        if (!parser.write(chunk)) tarball.pause();
      } catch (error) {
        fail(error);
      }
    });
    parser.on('drain', () => tarball.resume());
    tarball.on('end', () => {
      if (!failed) parser.end();
    });
  });
}

export interface PackageSource {
  readonly name: string;
  readonly version: string;
  readonly resolved: string;
  readonly integrity: string | undefined;
  readonly folder: string;
  /** `writable` is for packages whose install scripts still have to run. */
  readonly files: 'read-only' | 'writable';
}

/**
 * Fetches a package, checks its hash, and unpacks it. npm's fetcher tries what it has in its cache, and again from the
 * registry when that turns out to be damaged, which shows while it is unpacked: each try begins with nothing.
 */
export async function extractPackage(source: PackageSource, options: NpmOptions, budget: TreeBudget): Promise<void> {
  await mkdir(source.folder, { recursive: true });
  const label = `${source.name}@${source.version}`;
  const writer = new Writer(source, budget);
  const attempt = async (tarball: TarballStream): Promise<void> => {
    try {
      await unpack(tarball, writer, label);
    } catch (error) {
      writer.discard();
      throw error;
    }
  };
  await pacote.tarball.stream(label, attempt, {
    ...options,
    resolved: source.resolved,
    ...(source.integrity === undefined ? {} : { integrity: source.integrity }),
  });
}

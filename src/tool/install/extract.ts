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

/** Writes the files of one package, as they come. Nothing it creates is a link, so no path through it leads outside. */
class Writer {
  readonly #folder: string;
  readonly #write: number;
  readonly #made = new Set<string>();

  constructor(source: PackageSource) {
    this.#folder = source.folder;
    this.#write = source.files === 'writable' ? 0o200 : 0;
  }

  /** Takes an entry's content; returns a function for chunks and one for the end. */
  open(place: string, mode: number): { readonly write: (chunk: Buffer) => void; readonly close: () => void } {
    const file = join(this.#folder, place);
    const folder = dirname(file);
    if (!this.#made.has(folder)) {
      mkdirSync(folder, { recursive: true });
      this.#made.add(folder);
    }
    // A name that comes twice: the last one counts, as everywhere.
    if (this.#made.has(file)) rmSync(file, { force: true });
    this.#made.add(file);
    const handle = openSync(file, 'wx', ((mode & 0o111) !== 0 ? 0o555 : 0o444) | this.#write);
    return {
      write: (chunk) => {
        for (let sent = 0; sent < chunk.length; ) sent += writeSync(handle, chunk, sent);
      },
      close: () => closeSync(handle),
    };
  }
}

/**
 * Unpacks one package into a folder. Only plain files are written: links, devices and whatever else a tarball may hold
 * are left out, as npm does; modes come down to readable, and executable where the tarball says so. Files are written
 * without going through the event loop: this process has nothing to answer, and thousands of small files are several
 * times faster this way.
 */
function unpack(tarball: TarballStream, source: PackageSource, budget: TreeBudget, label: string): Promise<void> {
  const writer = new Writer(source);
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
      budget.files -= 1;
      budget.bytes -= entry.size;
      const problem =
        place.length > MAX_PATH_CHARACTERS
          ? new InstallError('tarball', `${label} has a file name of ${place.length} characters`)
          : budget.files < 0
            ? new InstallError('limits', `the tree has too many files; ${label} is over the limit`)
            : budget.bytes < 0
              ? new InstallError('limits', `the tree is too large; ${label} is over the limit`)
              : undefined;
      if (problem !== undefined) {
        fail(problem);
        entry.resume();
        return;
      }
      try {
        const file = writer.open(place, entry.mode ?? 0);
        entry.on('data', (chunk: Buffer) => file.write(chunk));
        entry.on('end', () => file.close());
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

/** Fetches a package, checks its hash, and unpacks it. */
export async function extractPackage(source: PackageSource, options: NpmOptions, budget: TreeBudget): Promise<void> {
  await mkdir(source.folder, { recursive: true });
  const label = `${source.name}@${source.version}`;
  await pacote.tarball.stream(label, (tarball) => unpack(tarball, source, budget, label), {
    ...options,
    resolved: source.resolved,
    ...(source.integrity === undefined ? {} : { integrity: source.integrity }),
  });
}

import { mkdir } from 'node:fs/promises';
import pacote, { type TarballStream } from 'pacote';
import { Unpack } from 'tar';
import { InstallError } from './install-problem.js';
import type { NpmOptions } from './npm-config.js';

/** What a whole tree may still take. Charged from the headers of a tarball, before anything is written. */
export interface TreeBudget {
  files: number;
  bytes: number;
}

/** How long files that are being written when a tarball is refused may take. */
const SETTLE_MS = 1_000;
/** Names longer than this cannot be created anyway. */
const MAX_PATH_CHARACTERS = 1_024;

/**
 * Unpacks one package into a folder. Only plain files are written: links, devices and whatever else a tarball may hold
 * are left out, as npm does; modes come down to readable, and executable where the tarball says so.
 */
function unpack(tarball: TarballStream, source: PackageSource, budget: TreeBudget, label: string): Promise<void> {
  const { folder } = source;
  const write = source.files === 'writable' ? 0o200 : 0;
  return new Promise((resolve, reject) => {
    let failed = false;
    const fail = (error: unknown): void => {
      if (failed) return;
      failed = true;
      tarball.destroy?.();
      // What is being written is finished first: whoever removes the folder must not race with it.
      const patience = setTimeout(() => reject(error), SETTLE_MS);
      extractor.once('close', () => {
        clearTimeout(patience);
        reject(error);
      });
      // Not in the middle of its own work: it is the extractor that found the fault.
      setImmediate(() => extractor.end());
    };
    const extractor = new Unpack({
      cwd: folder,
      strip: 1,
      noMtime: true,
      preserveOwner: false,
      umask: 0o022,
      filter: (path, entry) => {
        if (failed) return false;
        if (!('type' in entry) || !/^(File|OldFile|ContiguousFile)$/.test(String(entry.type))) return false;
        if (path.length > MAX_PATH_CHARACTERS) {
          fail(new InstallError('tarball', `${label} has a file name of ${path.length} characters`));
          return false;
        }
        budget.files -= 1;
        budget.bytes -= entry.size ?? 0;
        if (budget.files < 0)
          fail(new InstallError('limits', `the tree has too many files; ${label} is over the limit`));
        if (budget.bytes < 0) fail(new InstallError('limits', `the tree is too large; ${label} is over the limit`));
        entry.mode = (((entry.mode ?? 0) & 0o111) !== 0 ? 0o555 : 0o444) | write;
        return !failed;
      },
      onwarn: (code, message, data) => {
        if (code === 'TAR_BAD_ARCHIVE' || code === 'TAR_ABORT' || data?.['recoverable'] === false) {
          fail(new InstallError('tarball', `${label}: ${String(message)}`));
        }
      },
    });
    extractor.on('error', fail);
    extractor.on('close', () => {
      if (!failed) resolve();
    });
    tarball.on('error', fail);
    tarball.on('data', (chunk) => {
      if (!failed && !extractor.write(chunk)) tarball.pause();
    });
    extractor.on('drain', () => tarball.resume());
    tarball.on('end', () => {
      if (!failed) extractor.end();
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

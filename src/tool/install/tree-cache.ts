import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, renameSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { OwnedFolder, removeTree, sweepOwnedFolders } from '../../sandbox/index.js';
import type { ToolPolicy } from '../policy.js';
import { draftsFolder, treesFolder } from '../room-policy.js';
import { failureOfJob } from './failure-of-job.js';
import type { Installer } from './installer.js';
import type { InstalledTree, PendingScript, ResolvedPackage } from './jobs.js';
import { sealFolders } from './seal.js';
import { TreeLocks } from './tree-locks.js';

/** The file that says that a tree is whole. It is the last to be written, and the tree appears under its name afterwards. */
const MARKER = 'tree.json';
/** The tree's use is noted on disk at most this often; eviction after a restart needs no more. */
const TOUCH_EVERY_MS = 60_000;

const Marker = z.object({
  name: z.string(),
  version: z.string(),
  integrity: z.string().optional(),
  packages: z.number(),
  bytes: z.number(),
});
type Marker = z.output<typeof Marker>;

/** An installed package with everything below it. Its files never change once they are there; a bundle may come beside them. */
export interface Tree {
  readonly key: string;
  readonly folder: string;
  readonly name: string;
  readonly version: string;
  readonly integrity: string | undefined;
  readonly packages: number;
  readonly bytes: number;
  /** The module that brings the package into a child: the bundle where there is a good one. */
  entry: 'load.mjs' | 'bundle.mjs';
  /** Whether it is settled which one that is. */
  decided: boolean;
}

interface Entry extends Tree {
  usedAt: number;
  touchedAt: number;
}

/** The right to use a tree. While it is held, the tree is not evicted, by whichever process. */
export interface TreeLease extends Disposable {
  readonly tree: Tree;
}

export interface TreeCacheOptions {
  readonly cacheDir: string;
  readonly registry: string | undefined;
  readonly installer: Installer;
  readonly policy: ToolPolicy;
  readonly maxCacheBytes: number;
  readonly maxTreePackages: number;
  readonly maxTreeFiles: number;
  readonly maxTreeBytes: number;
  /** Runs the scripts of allow-listed packages, confined. */
  readonly runScripts: (scripts: readonly PendingScript[]) => Promise<void>;
  /** Hears of every use of a tree whose best entry is not settled. */
  readonly onUndecided: (tree: Tree) => void;
}

/** Who asked for an install first. */
export interface InstallWatcher {
  readonly onProgress: (packages: number) => void;
  /** Waits for the turn to install. */
  readonly slot: () => Promise<{ release(): void }>;
}

/**
 * Trees on disk.
 *
 *     absent ──install (one for all who ask)──▶ tmp/<server>/<random> ──marker written, renamed──▶ trees/<key> ──evicted──▶ absent
 *
 * Whatever is under `trees/` is whole: the rename is the only way in, and the way out is a rename, too.
 */
export class TreeCache implements AsyncDisposable {
  readonly #options: TreeCacheOptions;
  readonly #trees: string;
  readonly #drafts: OwnedFolder;
  readonly #locks: TreeLocks;
  readonly #flags: string;
  readonly #entries = new Map<string, Entry>();
  readonly #installing = new Map<string, Promise<Entry>>();
  #ready: Promise<void> | undefined;
  #bytes = 0;
  installs = 0;
  evictions = 0;

  constructor(options: TreeCacheOptions) {
    this.#options = options;
    this.#trees = treesFolder(options.cacheDir);
    // It is what children are shown before they know what they will run.
    mkdirSync(this.#trees, { recursive: true });
    this.#locks = new TreeLocks(options.cacheDir);
    this.#drafts = new OwnedFolder(draftsFolder(options.cacheDir), '');
    const { allowScripts, deny, minReleaseAgeMs } = options.policy;
    this.#flags = createHash('sha256')
      .update(JSON.stringify([options.registry ?? null, allowScripts, deny, minReleaseAgeMs]))
      .digest('hex')
      .slice(0, 12);
  }

  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Reads what is on disk. Called once; every other call waits for it. */
  open(): Promise<void> {
    this.#ready ??= this.#scan();
    return this.#ready;
  }

  /** Looks a tree up, and holds it when it is there. */
  async lease(name: string, version: string): Promise<TreeLease | undefined> {
    await this.open();
    const entry = this.#entries.get(this.#key(name, version));
    if (entry === undefined) return undefined;
    const lease = this.#hold(entry);
    if (await this.#isThere(entry)) return lease;
    lease[Symbol.dispose]();
    return undefined;
  }

  /** Makes sure that a tree is there. Any number of callers share one install, which nobody's leaving stops. */
  install(resolved: ResolvedPackage, watcher: InstallWatcher): Promise<TreeLease> {
    const key = this.#key(resolved.name, resolved.version);
    const running = this.#installing.get(key);
    if (running !== undefined) return running.then((entry) => this.#hold(entry));
    const building = this.#locks.use(key);
    const started = this.#install(key, resolved, watcher);
    this.#installing.set(key, started);
    const lease = started.then((entry) => this.#hold(entry));
    // After the line above: a tree is being installed until it is held, and nothing evicts it between the two.
    const over = (): void => {
      this.#installing.delete(key);
      building[Symbol.dispose]();
    };
    started.then(over, over);
    return lease;
  }

  /** Takes its unfinished work with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#drafts[Symbol.asyncDispose]();
  }

  /** Makes a tree's next users load the other entry. */
  async useEntry(tree: Tree, entry: Tree['entry']): Promise<void> {
    const known = this.#entries.get(tree.key);
    if (known === undefined) return;
    known.entry = entry;
    known.decided = true;
    await writeFile(join(known.folder, 'entry'), entry).catch(() => {});
  }

  #key(name: string, version: string): string {
    const major = process.versions.node.split('.', 1)[0];
    return `${name.replace('/', '+')}@${version}-node${major}-${process.platform}-${process.arch}-${this.#flags}`;
  }

  #hold(entry: Entry): TreeLease {
    const use = this.#locks.use(entry.key);
    const now = Date.now();
    entry.usedAt = now;
    if (now - entry.touchedAt > TOUCH_EVERY_MS) {
      entry.touchedAt = now;
      void utimes(join(entry.folder, MARKER), now / 1_000, now / 1_000).catch(() => {});
    }
    if (!entry.decided) this.#options.onUndecided(entry);
    return { tree: entry, [Symbol.dispose]: () => use[Symbol.dispose]() };
  }

  /** Whether a tree of the books is on disk. Another process that shares the cache may have evicted it; then it leaves the books. */
  async #isThere(entry: Entry): Promise<boolean> {
    try {
      await stat(join(entry.folder, MARKER));
      return true;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return true;
      this.#forget(entry);
      return false;
    }
  }

  async #install(key: string, resolved: ResolvedPackage, watcher: InstallWatcher): Promise<Entry> {
    await this.open();
    const slot = await watcher.slot();
    try {
      return await this.#build(key, resolved, watcher.onProgress);
    } finally {
      slot.release();
    }
  }

  async #build(key: string, resolved: ResolvedPackage, onProgress: (packages: number) => void): Promise<Entry> {
    const present = this.#entries.get(key);
    if (present !== undefined && (await this.#isThere(present))) return present;
    const { policy, installer, maxTreePackages, maxTreeFiles, maxTreeBytes } = this.#options;
    const draft = join(this.#drafts.path, randomBytes(8).toString('hex'));
    try {
      await mkdir(draft, { recursive: true });
      const installed = await installer.install(
        {
          name: resolved.name,
          version: resolved.version,
          integrity: resolved.integrity,
          before: policy.minReleaseAgeMs > 0 ? new Date(Date.now() - policy.minReleaseAgeMs).toISOString() : undefined,
          deny: policy.deny,
          allowScripts: policy.allowScripts,
          folder: draft,
          maxPackages: maxTreePackages,
          maxFiles: maxTreeFiles,
          maxBytes: maxTreeBytes,
        },
        onProgress,
      );
      if (installed.pendingScripts.length > 0) {
        await this.#options.runScripts(installed.pendingScripts);
        await sealFolders(join(draft, 'node_modules'));
      }
      const entry = await this.#place(key, draft, resolved, installed);
      this.installs += 1;
      void this.#evict();
      return entry;
    } catch (error) {
      throw failureOfJob(error, `${resolved.name}@${resolved.version}`, 'install');
    } finally {
      await removeTree(draft).catch(() => {});
    }
  }

  async #place(key: string, draft: string, resolved: ResolvedPackage, installed: InstalledTree): Promise<Entry> {
    const { packages, bytes } = installed;
    const { name, version, integrity } = resolved;
    const marker: Marker = { name, version, integrity, packages, bytes };
    // Nothing that an install script left under this name is followed.
    await writeFile(join(draft, MARKER), JSON.stringify(marker), { flag: 'wx' });
    const folder = join(this.#trees, key);
    try {
      await rename(draft, folder);
    } catch (error) {
      // Another server with the same cache was faster; both trees are the same.
      if ((await readMarker(folder)) === undefined) throw error;
    }
    return this.#note(key, marker, undefined, Date.now());
  }

  async #scan(): Promise<void> {
    for (const key of await readdir(this.#trees)) {
      const folder = join(this.#trees, key);
      const marker = await readMarker(folder);
      if (marker === undefined) {
        // Nothing of ours ever gets here without its marker; whatever it is, it must not be taken for a tree.
        void removeTree(folder).catch(() => {});
        continue;
      }
      const usedAt = (await stat(join(folder, MARKER))).mtimeMs;
      const noted = await readFile(join(folder, 'entry'), 'utf8').catch(() => undefined);
      this.#note(key, marker, noted, usedAt);
    }
    void sweepOwnedFolders(draftsFolder(this.#options.cacheDir), '');
    void this.#evict();
  }

  /** Takes a tree that is in its place into the books. `noted` is the entry that was found to be the best, once one was. */
  #note(key: string, about: Marker, noted: string | undefined, usedAt: number): Entry {
    const { name, version, integrity, packages, bytes } = about;
    const entry: Entry = {
      key,
      folder: join(this.#trees, key),
      name,
      version,
      integrity,
      packages,
      bytes,
      entry: noted === 'bundle.mjs' ? noted : 'load.mjs',
      decided: noted !== undefined,
      usedAt,
      touchedAt: usedAt,
    };
    this.#entries.set(key, entry);
    this.#bytes += bytes;
    return entry;
  }

  /** Takes a tree out of the books, unless it left them before. */
  #forget(entry: Entry): boolean {
    if (this.#entries.get(entry.key) !== entry) return false;
    this.#entries.delete(entry.key);
    this.#bytes -= entry.bytes;
    return true;
  }

  async #evict(): Promise<void> {
    for (const entry of [...this.#entries.values()].sort((a, b) => a.usedAt - b.usedAt)) {
      if (this.#bytes <= this.#options.maxCacheBytes) return;
      const grave = this.#bury(entry);
      if (grave !== undefined) await removeTree(grave).catch(() => {});
    }
  }

  /** Takes a tree out of its place, in one go, unless anybody uses it. Says where it is now. */
  #bury(entry: Entry): string | undefined {
    using lock = this.#locks.evict(entry.key);
    if (lock === undefined || !this.#forget(entry)) return undefined;
    this.evictions += 1;
    const grave = join(this.#drafts.path, randomBytes(8).toString('hex'));
    try {
      renameSync(entry.folder, grave);
      return grave;
    } catch {
      // Another server was faster.
      return undefined;
    }
  }
}

async function readMarker(folder: string): Promise<Marker | undefined> {
  try {
    const parsed = Marker.safeParse(JSON.parse(await readFile(join(folder, MARKER), 'utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

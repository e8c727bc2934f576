/*
 * What the server and its installer say to each other. The installer is a process of its own, because resolving and
 * unpacking a tree keeps an event loop busy for hundreds of milliseconds, and the server's must answer meanwhile.
 */

/** Why a package could not be had. Decided by codes of npm, never by wording. */
export type InstallProblem =
  | 'not-found'
  | 'no-version'
  | 'too-new'
  | 'denied'
  | 'unreachable'
  | 'integrity'
  | 'conflict'
  | 'source'
  | 'limits'
  | 'platform'
  | 'tarball'
  | 'internal';

export interface InstallerSettings {
  readonly cacheDir: string;
  readonly registry: string | undefined;
  /** How long a registry may keep silent before it is asked again. */
  readonly registryTimeoutMs: number;
}

export interface ResolveJob {
  readonly op: 'resolve';
  readonly name: string;
  readonly version: string;
  readonly before: string | undefined;
  /** `fresh` asks the registry even if an answer is at hand. */
  readonly freshness: 'cached' | 'fresh';
  /** `full` also reads what only the full document has: licence, description, the package's own fields. */
  readonly detail: 'short' | 'full';
}

export interface InstallJob {
  readonly op: 'install';
  readonly name: string;
  readonly version: string;
  readonly integrity: string | undefined;
  readonly before: string | undefined;
  readonly deny: readonly string[];
  readonly allowScripts: readonly string[];
  readonly folder: string;
  readonly maxPackages: number;
  readonly maxFiles: number;
  readonly maxBytes: number;
}

export interface BundleJob {
  readonly op: 'bundle';
  readonly folder: string;
}

export type Job = ResolveJob | InstallJob | BundleJob;

/** What the registry says of one version. */
export interface ResolvedPackage {
  readonly name: string;
  readonly version: string;
  readonly integrity: string | undefined;
  readonly hasInstallScript: boolean;
  readonly license: string | undefined;
  readonly description: string | undefined;
  /** The package's own `tpmjs` field, as it is. */
  readonly tpmjs: unknown;
}

/** A lifecycle script of a package on the allow-list, still to be run. */
export interface PendingScript {
  readonly packageName: string;
  readonly event: string;
  readonly command: string;
  readonly folder: string;
}

export interface InstalledTree {
  readonly packages: number;
  readonly bytes: number;
  readonly pendingScripts: readonly PendingScript[];
}

export interface BundleAnswer {
  readonly made: boolean;
}

export interface JobError {
  readonly problem: InstallProblem;
  readonly message: string;
  readonly code: string | undefined;
}

export type ToInstaller =
  | { readonly type: 'settings'; readonly settings: InstallerSettings }
  | { readonly type: 'job'; readonly id: number; readonly job: Job };

export type FromInstaller =
  | { readonly type: 'progress'; readonly id: number; readonly packages: number }
  | { readonly type: 'done'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failed'; readonly id: number; readonly error: JobError };

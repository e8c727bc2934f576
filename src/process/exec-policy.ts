import { realpathSync, statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isSallyportError, SallyportError } from '../errors/index.js';
import {
  type Command,
  GUEST_POLICY,
  type NetworkPolicy,
  ownPackageFolder,
  ownPackagePaths,
  type Policy,
  processPolicy,
  type ResourceLimits,
  shownByRooms,
} from '../sandbox/index.js';
import type { FileScope } from './fs/scope.js';
import { realPlace } from './real-place.js';
import { fileAccess, folderAccess, type Place, placeOf, type Surroundings, workspaceProblem } from './workspace.js';

export interface ExecPolicyOptions {
  /** Folders where commands may work and write. None named: the working folder of each command, where it harms nobody. */
  readonly workspace?: readonly string[];
  /** Folders that are never granted, whatever else is: a cache of programs that run outside, say. */
  readonly protect?: readonly string[];
  /** The network of commands and of `http/request`. Default: `none`. */
  readonly network?: NetworkPolicy;
  /** What a command may use. Default: those of `processPolicy`. */
  readonly limits?: ResourceLimits;
}

/** What the commands of a server may reach at level `container`, and with them `fs/*` and `http/request`. */
export interface ExecPolicy {
  /** The policy of one command, for `containerLevel` and `resolveIsolation`. Throws SPAWN_FAILED. */
  readonly forCommand: (command: Pick<Command, 'cwd'>) => Policy;
  /** The folder that a command really starts in when it asks for one. Throws SPAWN_FAILED. */
  workingFolder(cwd: string): string;
  /** What `fs/*` may reach: what a command could. */
  readonly files: FileScope;
  readonly network: NetworkPolicy;
}

/** Makes the policy of a server's commands. Throws POLICY_INVALID for a workspace that cannot be one. */
export function execPolicy(options: ExecPolicyOptions = {}): ExecPolicy {
  const around = surroundings(options);
  const network = options.network ?? GUEST_POLICY.network;
  const place = (cwd: string) => {
    const real = realFolder(cwd, around);
    const found = placeOf(real, around);
    if (found.kind === 'refused') throw refused(cwd, found.reason);
    return { real, found };
  };
  return {
    forCommand: ({ cwd }) => {
      const { found } = place(cwd);
      const base = found.kind === 'workspace' ? processPolicy(found.folder) : GUEST_POLICY;
      const read = readableIn(found);
      const limits = { ...base.limits, ...options.limits };
      return { filesystem: { ...base.filesystem, read }, network, limits };
    },
    workingFolder: (cwd) => place(cwd).real,
    files: {
      folder: (path) => folderAccess(path, around),
      file: (path) => fileAccess(path, around),
    },
    network,
  };
}

function readableIn(place: Place): readonly string[] {
  if (place.kind === 'readable') return [place.folder];
  return place.kind === 'workspace' ? place.readOnly : [];
}

function surroundings(options: ExecPolicyOptions): Surroundings {
  const { readable, privateFolders } = shownByRooms();
  const around = {
    homes: homes(),
    ownFolder: ownPackageFolder(),
    ownPaths: ownPackagePaths(),
    protect: (options.protect ?? []).map(realPlace),
    readable,
    privateFolders,
  };
  const workspaces = (options.workspace ?? []).map((folder) => workspace(folder, around));
  return { ...around, workspaces };
}

function workspace(folder: string, around: Omit<Surroundings, 'workspaces'>): string {
  const invalid = (problem: string): SallyportError =>
    new SallyportError('POLICY_INVALID', `the workspace ${JSON.stringify(folder)} ${problem}`, { field: 'workspace' });
  let real: string;
  try {
    real = realpathSync(folder);
    if (!statSync(real).isDirectory()) throw invalid('is not a folder');
  } catch (error) {
    if (isSallyportError(error)) throw error;
    throw invalid('is not there');
  }
  const problem = workspaceProblem(real, around);
  if (problem !== undefined) throw invalid(problem);
  return real;
}

/** The homes of the user and of root. */
function homes(): string[] {
  const own = [homedir(), '/root'];
  try {
    own.push(userInfo().homedir);
  } catch {
    // A user without an account has none.
  }
  return [...new Set(own.filter((path) => path.startsWith('/')).map(realPlace))];
}

function realFolder(cwd: string, around: Surroundings): string {
  let problem: unknown;
  try {
    const real = realpathSync(cwd);
    if (statSync(real).isDirectory()) return real;
    problem = 'ENOTDIR';
  } catch (error) {
    problem = error instanceof Error && 'code' in error ? error.code : 'EIO';
  }
  // Whether something is there that commands must not see is none of their business either.
  const found = placeOf(realPlace(cwd), around);
  if (found.kind === 'refused') throw refused(cwd, found.reason);
  const message = `cannot start a program in the folder ${JSON.stringify(cwd)}: it cannot be opened (${problem})`;
  throw new SallyportError('SPAWN_FAILED', message, { errno: String(problem) });
}

function refused(cwd: string, reason: string): SallyportError {
  const advice = 'name another one, or start the server with this folder, or one around it, as a workspace';
  const message = `cannot start a program in the folder ${JSON.stringify(cwd)}: commands may not work there, because ${reason}; ${advice}`;
  return new SallyportError('SPAWN_FAILED', message, { errno: 'EACCES' });
}

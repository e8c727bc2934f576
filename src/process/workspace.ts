import { dirname } from 'node:path';
import { beneath } from '../sandbox/index.js';

/** What is around the commands of a server. All paths are real: absolute, without links and detours. */
export interface Surroundings {
  /** Where commands may work. Nothing named: wherever it harms nobody. */
  readonly workspaces: readonly string[];
  /** The homes of people: dot-folders right below them hold keys and settings. */
  readonly homes: readonly string[];
  /** The folder of this package. */
  readonly ownFolder: string;
  /** What of this package and its dependencies runs. */
  readonly ownPaths: readonly string[];
  /** What else must stay out of reach, such as a cache of programs that run outside. */
  readonly protect: readonly string[];
  /** What every room shows of the machine, to be read. */
  readonly readable: readonly string[];
  /** Folders that every room has of its own under these names. */
  readonly privateFolders: readonly string[];
}

/** What a folder is for commands that work in it. */
export type Place =
  /** A folder that is theirs, but for what is to be read only. */
  | { readonly kind: 'workspace'; readonly folder: string; readonly readOnly: readonly string[] }
  /** A folder to look at: it is a part of Sallyport, which nothing that it runs may change. */
  | { readonly kind: 'readable'; readonly folder: string }
  /** A folder that is there anyway; nothing is granted for it. */
  | { readonly kind: 'shown' }
  | { readonly kind: 'refused'; readonly reason: string };

/** Folders that belong to the system. `/var/tmp` holds folders of people. */
const SYSTEM = /^\/(?:usr|bin|sbin|lib(?:x?32|64)?|etc|boot|dev|proc|sys|run|var(?!\/tmp\/.))(?:\/|$)/;

/** The homes of others, and the dot-folders right below them. */
const USUAL_HOME = /^\/home\/[^/]+$/;
const USUAL_DOT_FOLDER = /^\/home\/[^/]+\/\./;

/** Why nothing is granted for a folder that nobody named, if nothing is. */
function objection(folder: string, around: Surroundings): string | undefined {
  if (folder === '/' || SYSTEM.test(folder)) return 'it belongs to the system';
  if (around.privateFolders.includes(folder)) return 'it is shared by everybody';
  const near = (path: string): boolean => beneath(folder, path) || beneath(path, folder);
  const { homes } = around;
  if (USUAL_HOME.test(folder) || homes.some((home) => beneath(home, folder))) return 'it is, or contains, a home';
  if (USUAL_DOT_FOLDER.test(folder) || homes.some((home) => folder.startsWith(home === '/' ? '/.' : `${home}/.`))) {
    return 'it is, or is in, a dot-folder of a home';
  }
  if (ownParts(folder, around) === undefined) return 'it contains a part of Sallyport';
  if (around.protect.some(near)) return 'it is, or contains, what commands must not change';
  if (around.readable.some(near)) return 'it is, or contains, programs of the system';
  return undefined;
}

/** What of this package is right below a folder, where it can be kept from being changed; nothing when it lies deeper. */
function ownParts(folder: string, { ownPaths }: Pick<Surroundings, 'ownPaths'>): readonly string[] | undefined {
  const inside = ownPaths.filter((path) => beneath(path, folder));
  // Right below, it can be mounted read-only; deeper, a folder in between could be put aside with it.
  return inside.every((path) => dirname(path) === folder) ? inside : undefined;
}

/** Decides what a folder is for commands that work in it. */
export function placeOf(folder: string, around: Surroundings): Place {
  const { workspaces } = around;
  const named = workspaces.filter((workspace) => beneath(folder, workspace)).sort((a, b) => b.length - a.length)[0];
  if (named !== undefined) {
    const readOnly = around.ownPaths.filter((path) => beneath(path, named));
    return { kind: 'workspace', folder: named, readOnly };
  }
  const reason = workspaces.length > 0 ? 'it is in none of the workspaces' : objection(folder, around);
  const own = workspaces.length === 0 && [around.ownFolder, ...around.ownPaths].some((path) => beneath(folder, path));
  if (reason === undefined && own) return { kind: 'readable', folder };
  if (reason === undefined) return { kind: 'workspace', folder, readOnly: ownParts(folder, around) ?? [] };
  const shown = around.privateFolders.includes(folder) || around.readable.some((path) => beneath(folder, path));
  return shown ? { kind: 'shown' } : { kind: 'refused', reason };
}

/** Why a folder cannot be named as a workspace, if it cannot. */
export function workspaceProblem(folder: string, around: Omit<Surroundings, 'workspaces'>): string | undefined {
  if (folder === '/') return 'is the root of the machine';
  const guarded = around.protect.find((path) => beneath(folder, path) || beneath(path, folder));
  if (guarded !== undefined) return `reaches ${guarded}, which commands must not change`;
  const program = around.readable.find((path) => beneath(path, folder));
  if (program !== undefined) return `contains ${program}, a program or library of the system`;
  const own = around.ownPaths.find((path) => beneath(folder, path));
  if (own !== undefined) return `is a part of Sallyport, in ${own}`;
  if (ownParts(folder, around) !== undefined) return undefined;
  return `contains ${around.ownPaths.find((path) => beneath(path, folder))}, a part of Sallyport`;
}

/** What may be done with a file or a folder. */
export type Access = 'write' | 'read' | 'none';

/** What a command could do in a folder, if it asked to work there. */
export function folderAccess(folder: string, around: Surroundings): Access {
  const place = placeOf(folder, around);
  if (place.kind === 'readable') return 'read';
  if (place.kind === 'workspace') return place.readOnly.some((path) => beneath(folder, path)) ? 'read' : 'write';
  return around.readable.some((path) => beneath(folder, path)) ? 'read' : 'none';
}

/** What a command could do with a file, if it asked to work in the folder that it is in. */
export function fileAccess(file: string, around: Surroundings): Access {
  const access = folderAccess(dirname(file), around);
  if (access === 'write') return around.ownPaths.some((path) => beneath(file, path)) ? 'read' : 'write';
  return access === 'read' || around.readable.some((path) => beneath(file, path)) ? 'read' : 'none';
}

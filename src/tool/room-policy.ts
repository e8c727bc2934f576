import { realpathSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import {
  type Command,
  DEFAULT_LIMITS,
  type NetworkPolicy,
  type Policy,
  toolPolicy,
  withOwnPackage,
} from '../sandbox/index.js';
import { DEFAULT_TOOL_POLICY } from './policy.js';

export interface ToolRoomOptions {
  /** The cache folder of the executor. Nothing of it is visible but its trees. */
  readonly cacheDir: string;
  /** What tools may reach: every public host, unless told otherwise. */
  readonly network?: NetworkPolicy;
  readonly limits?: Policy['limits'];
}

/** The folder of whole trees in a cache folder. */
export const treesFolder = (cacheDir: string): string => join(cacheDir, 'trees');

/** The folder of a cache folder in which trees are built: a folder for each server, and in it one for each tree. */
export const draftsFolder = (cacheDir: string): string => join(cacheDir, 'tmp');

/** The packages of the draft that a folder belongs to. What else a draft holds is written by the server. */
function packagesAround(cacheDir: string, folder: string): string | undefined {
  const drafts = draftsFolder(cacheDir);
  const [server = '', draft = '', packages] = relative(drafts, folder).split(sep);
  return server === '..' || packages !== 'node_modules' ? undefined : join(drafts, server, draft, packages);
}

/**
 * Makes the policy of tools for the level `container`, to be handed to `containerLevel`. Children are started before it
 * is known what they will run: they see all trees, read-only, this package, and nothing else; what they write goes to
 * folders in memory. An install script, which is started in the tree that is being built, may change the packages of
 * that one tree.
 */
export function toolRoomPolicy(options: ToolRoomOptions): (command: Command) => Policy {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const network = options.network ?? DEFAULT_TOOL_POLICY.network;
  let tools: Policy | undefined;
  let cacheDir = '';
  return (command) => {
    // Grants name what is really there, and the folder may only be made after the policy.
    cacheDir ||= realpathSync(resolve(options.cacheDir));
    tools ??= withOwnPackage({ ...toolPolicy({ packageTree: treesFolder(cacheDir), network }), limits });
    const packages = packagesAround(cacheDir, command.cwd);
    return packages === undefined ? tools : { network, limits, filesystem: { read: [], write: [packages], hide: [] } };
  };
}

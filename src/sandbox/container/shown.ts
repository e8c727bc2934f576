import { realpathSync } from 'node:fs';
import { SystemView } from './system-view.js';
import { PRIVATE_FOLDERS } from './visible.js';

/** What every room shows, whatever its policy says. */
export interface ShownByRooms {
  /** Real paths of folders and files of the machine that can be read inside. */
  readonly readable: readonly string[];
  /** Folders that are there under these names, but are the room's own. */
  readonly privateFolders: readonly string[];
}

/** Tells what a command sees without any grant. */
export function shownByRooms(): ShownByRooms {
  // What covers the process table depends on the user, and none of it is a file of the machine.
  const ordinaryUser = 1;
  const { roots } = new SystemView(ordinaryUser);
  return { readable: [...new Set(roots.map((path) => realpathSync(path)))], privateFolders: PRIVATE_FOLDERS };
}

import type { Access } from '../workspace.js';

/** What `fs/*` may do where. Paths are real: without links and detours. */
export interface FileScope {
  /** What may be done in a folder: list it, or make and remove things in it. */
  folder(path: string): Access;
  /** What may be done with anything but a folder. */
  file(path: string): Access;
}

/** As much as the user of the server may. */
export const EVERYTHING: FileScope = { folder: () => 'write', file: () => 'write' };

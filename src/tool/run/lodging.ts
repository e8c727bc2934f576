import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Where a child lives: what it may write to, and what nobody else sees. */
export interface Lodging extends AsyncDisposable {
  readonly home: string;
  readonly temporary: string;
  /** A folder that is nobody else's: who carries it in its environment belongs here. Nothing where a room holds everybody. */
  readonly mark: string | undefined;
}

/** Gives each child a lodging of its own. */
export type Lodgings = () => Promise<Lodging>;

const RETRIES = 3;

/** Inside a room the private folders are always in the same place, and are gone with it. */
const ROOM: Lodging = { home: '/home', temporary: '/tmp', mark: undefined, async [Symbol.asyncDispose]() {} };

/** Lodgings at the level `container`. */
export const roomLodgings: Lodgings = async () => ROOM;

/** Lodgings at the other levels: a folder of the machine each, removed afterwards. */
export function folderLodgings(parent: string): Lodgings {
  return async () => {
    const path = join(parent, randomBytes(16).toString('hex'));
    await mkdir(path, { recursive: true, mode: 0o700 });
    return {
      home: path,
      temporary: path,
      mark: path,
      async [Symbol.asyncDispose]() {
        // A process that was just killed may have written its last file while this was under way.
        await rm(path, { recursive: true, force: true, maxRetries: RETRIES }).catch(() => {});
      },
    };
  };
}

import { randomBytes } from 'node:crypto';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { sharedGuardian } from './guardian.js';
import { removeTree } from './remove-tree.js';

/** The socket in a folder on which its owner listens for as long as it lives. */
const OWNER = 'owner';
/** A folder without such a socket is this old before it counts as left over. */
const LEFTOVER_AGE_MS = 60 * 60_000;
/** Nobody listens yet for a moment while a socket is made; after this pause somebody does. */
const SECOND_LOOK_MS = 100;

/** Names a socket in an open folder. The kernel takes no path of more than 107 bytes, and a cache folder may well be deeper. */
function socketIn(folder: string, handle: number): string {
  return process.platform === 'linux' ? `/proc/self/fd/${handle}/${OWNER}` : join(folder, OWNER);
}

/**
 * A folder of this process that others can tell is in use. A number of a process would not do: folders are shared between
 * containers that each count their own, and after a restart the server often has the same number again. Somebody who
 * answers on a socket lives, wherever that is, and the kernel closes it whatever the owner dies of.
 *
 * After a kill of this process the guardian removes it. Whoever comes later sweeps what is left when both were killed.
 */
export class OwnedFolder implements AsyncDisposable {
  readonly path: string;
  readonly #handle: number;
  readonly #server: Server;

  constructor(parent: string, prefix: string) {
    this.path = join(parent, `${prefix}${process.pid}-${randomBytes(12).toString('hex')}`);
    mkdirSync(this.path, { recursive: true, mode: 0o700 });
    this.#handle = openSync(this.path, 'r');
    this.#server = createServer((stranger) => stranger.destroy());
    // A file system without sockets is no reason to refuse: there, age decides.
    this.#server.on('error', () => {});
    this.#server.listen(socketIn(this.path, this.#handle));
    this.#server.unref();
    sharedGuardian().removesFolder(this.path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await removeTree(this.path).catch(() => {});
    sharedGuardian().keepsFolder(this.path);
    // Closing removes the socket by its name, which leads through the handle.
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    closeSync(this.#handle);
  }
}

type Owner = 'answers' | 'gone' | 'unknown';

function ask(folder: string): Promise<Owner> {
  return new Promise((resolve) => {
    let handle: number;
    try {
      handle = openSync(folder, 'r');
    } catch {
      resolve('unknown');
      return;
    }
    const socket = connect(socketIn(folder, handle));
    const settle = (owner: Owner): void => {
      socket.destroy();
      resolve(owner);
    };
    socket.once('connect', () => settle('answers'));
    socket.once('error', (error: NodeJS.ErrnoException) => settle(error.code === 'ECONNREFUSED' ? 'gone' : 'unknown'));
    socket.once('close', () => closeSync(handle));
  });
}

async function isLeftOver(folder: string): Promise<boolean> {
  const first = await ask(folder);
  if (first === 'answers') return false;
  if (first === 'unknown') {
    const info = await stat(folder).catch(() => undefined);
    return info?.isDirectory() === true && Date.now() - info.mtimeMs > LEFTOVER_AGE_MS;
  }
  await pause(SECOND_LOOK_MS, undefined, { ref: false });
  return (await ask(folder)) === 'gone';
}

/** Removes the folders whose owners have died without doing it. */
export async function sweepOwnedFolders(parent: string, prefix: string): Promise<void> {
  const names = await readdir(parent).catch(() => []);
  const candidates = names.filter((name) => name.startsWith(prefix)).map((name) => join(parent, name));
  await Promise.all(
    candidates.map(async (folder) => {
      if (await isLeftOver(folder)) await removeTree(folder).catch(() => {});
    }),
  );
}

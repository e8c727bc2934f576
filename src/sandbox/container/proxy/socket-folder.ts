import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { OwnedFolder, sweepOwnedFolders } from '../../owned-folder.js';

const PREFIX = 'sallyport-proxy-';
/** The kernel takes no longer path for a socket. */
const SOCKET_PATH_BYTES = 107;
/** What the folder and a socket add to the path of the one they are in. */
const NAME_BYTES = 64;

/**
 * The folder with the sockets of this process.
 *
 *     absent ──take()──▶ there ──give() of the last──▶ absent
 */
export class SocketFolder {
  #folder: OwnedFolder | undefined;
  #taken = 0;
  #counter = 0;
  #swept = false;

  /** The path of a new socket. */
  take(): string {
    const parent = tmpdir().length + NAME_BYTES <= SOCKET_PATH_BYTES ? tmpdir() : '/tmp';
    if (!this.#swept) {
      this.#swept = true;
      void sweepOwnedFolders(parent, PREFIX);
    }
    this.#folder ??= new OwnedFolder(parent, PREFIX);
    this.#taken += 1;
    this.#counter += 1;
    return join(this.#folder.path, `s${this.#counter}`);
  }

  /** Says that a socket is closed, which removed it. */
  async give(): Promise<void> {
    this.#taken -= 1;
    if (this.#taken > 0) return;
    const folder = this.#folder;
    this.#folder = undefined;
    await folder?.[Symbol.asyncDispose]();
  }
}

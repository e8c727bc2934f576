import { randomBytes } from 'node:crypto';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Memory rather than a disk, where there is such a folder: the content may be secret. */
const FOLDERS = ['/dev/shm', tmpdir()];

/** Opens a file without a name, so that nothing can stay behind, with the content to be read from it. */
export function namelessFile(content: Uint8Array): number {
  let failure: unknown;
  for (const folder of FOLDERS) {
    const path = join(folder, `sallyport-${randomBytes(12).toString('hex')}`);
    try {
      const handle = openSync(path, 'wx+', 0o600);
      unlinkSync(path);
      // At a position, because where reading starts moves along with plain writes.
      writeSync(handle, content, 0, content.length, 0);
      return handle;
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

/** Content that every child reads from a handle of its own. */
export class SharedContent {
  readonly #handle: number;

  constructor(content: Uint8Array | string) {
    this.#handle = namelessFile(Buffer.from(content));
  }

  /** Opens it anew: a handle that was shared would remember how far another child has read. */
  open(): number {
    return openSync(`/proc/self/fd/${this.#handle}`, 'r');
  }
}

/** The handles that one child is started with, and the numbers that they have there. */
export class HandleList {
  readonly #first: number;
  readonly #handles: number[] = [];

  constructor(first: number) {
    this.#first = first;
  }

  get handles(): readonly number[] {
    return this.#handles;
  }

  /** Takes a handle over and returns its number in the child, as an argument. */
  add(handle: number): string {
    this.#handles.push(handle);
    return String(this.#first + this.#handles.length - 1);
  }

  close(): void {
    for (const handle of this.#handles.splice(0)) closeSync(handle);
  }
}

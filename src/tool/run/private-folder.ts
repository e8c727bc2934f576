import { randomBytes } from 'node:crypto';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** A folder that one child has for itself: its home, its temporary folder and its working directory. */
export interface PrivateFolder extends AsyncDisposable {
  readonly path: string;
}

const RETRIES = 3;

/** Makes one. */
export async function makePrivateFolder(parent: string): Promise<PrivateFolder> {
  const path = join(parent, randomBytes(16).toString('hex'));
  await mkdir(path, { recursive: true, mode: 0o700 });
  return {
    path,
    async [Symbol.asyncDispose]() {
      // A process that was just killed may have written its last file while this was under way.
      await rm(path, { recursive: true, force: true, maxRetries: RETRIES }).catch(() => {});
    },
  };
}

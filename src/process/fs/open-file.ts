import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { badRequest } from './errors.js';

/** Opens a regular file for reading. Anything else is refused without waiting for it: a FIFO would block, a device may act. */
export async function openRegularFile(path: string): Promise<{ readonly file: FileHandle; readonly size: number }> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const info = await file.stat();
    if (!info.isFile()) throw badRequest(`path \`${path}\` is not a file`);
    return { file, size: info.size };
  } catch (error) {
    await file.close();
    throw error;
  }
}

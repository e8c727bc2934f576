import type { FileHandle } from 'node:fs/promises';
import { ExecError } from '../exec-error.js';
import type { ProcessLimits } from '../limits.js';
import { badRequest } from './errors.js';

/** The files that a session has open for reading in blocks. */
export class FileHandles {
  readonly #limits: Pick<ProcessLimits, 'fileHandles' | 'readBlockBytes'>;
  readonly #files = new Map<string, { file?: FileHandle }>();

  constructor(limits: Pick<ProcessLimits, 'fileHandles' | 'readBlockBytes'>) {
    this.#limits = limits;
  }

  /** Keeps what is opened under a name that the client chose. */
  async open(handleId: string, opening: () => Promise<FileHandle>): Promise<void> {
    if (this.#files.has(handleId)) throw badRequest(`file handle \`${handleId}\` already exists`);
    const limit = this.#limits.fileHandles;
    if (this.#files.size >= limit) throw badRequest(`too many open file handles: the limit is ${limit}`);
    const entry: { file?: FileHandle } = {};
    this.#files.set(handleId, entry);
    try {
      const file = await opening();
      // The session may have ended, or the handle been closed, while the file was opened, and another one have its name.
      if (this.#files.get(handleId) === entry) entry.file = file;
      else await file.close();
    } catch (error) {
      if (this.#files.get(handleId) === entry) this.#files.delete(handleId);
      throw error;
    }
  }

  async readBlock(handleId: string, offset: number, length: number): Promise<{ bytes: Buffer; eof: boolean }> {
    const limit = this.#limits.readBlockBytes;
    if (length < 1 || length > limit) throw badRequest(`len must be from 1 to ${limit}, not ${length}`);
    const file = this.#files.get(handleId)?.file;
    if (file === undefined) throw new ExecError('notFound', `unknown file handle \`${handleId}\``);
    // What a file says of its size is not asked: files of /proc say 0 and have content.
    const bytes = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return { bytes: bytes.subarray(0, filled), eof: filled < length };
  }

  async close(handleId: string): Promise<void> {
    const file = this.#files.get(handleId)?.file;
    this.#files.delete(handleId);
    await file?.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#files.keys()].map((handleId) => this.close(handleId)));
  }
}

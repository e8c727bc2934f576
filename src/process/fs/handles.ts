import type { FileHandle } from 'node:fs/promises';
import { ExecError } from '../exec-error.js';
import type { ProcessLimits } from '../limits.js';
import { badRequest } from './errors.js';

/** The files that a session has open for reading in blocks. */
export class FileHandles {
  readonly #limits: Pick<ProcessLimits, 'fileHandles' | 'readBlockBytes'>;
  readonly #files = new Map<string, FileHandle | 'opening'>();

  constructor(limits: Pick<ProcessLimits, 'fileHandles' | 'readBlockBytes'>) {
    this.#limits = limits;
  }

  /** Keeps what is opened under a name that the client chose. */
  async open(handleId: string, opening: () => Promise<FileHandle>): Promise<void> {
    if (this.#files.has(handleId)) throw badRequest(`file handle \`${handleId}\` already exists`);
    const limit = this.#limits.fileHandles;
    if (this.#files.size >= limit) throw badRequest(`too many open file handles: the limit is ${limit}`);
    this.#files.set(handleId, 'opening');
    try {
      const file = await opening();
      // The session may have ended, or the handle been closed, while the file was opened.
      if (this.#files.get(handleId) === 'opening') this.#files.set(handleId, file);
      else await file.close();
    } catch (error) {
      this.#files.delete(handleId);
      throw error;
    }
  }

  async readBlock(handleId: string, offset: number, length: number): Promise<{ bytes: Buffer; eof: boolean }> {
    const limit = this.#limits.readBlockBytes;
    if (length < 1 || length > limit) throw badRequest(`len must be from 1 to ${limit}, not ${length}`);
    const file = this.#files.get(handleId);
    if (file === undefined || file === 'opening') {
      throw new ExecError('notFound', `unknown file handle \`${handleId}\``);
    }
    const { size } = await file.stat();
    // A sparse file may claim any size: only what is there is allocated.
    const bytes = Buffer.allocUnsafe(Math.max(0, Math.min(length, size - offset)));
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled, offset + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return { bytes: bytes.subarray(0, filled), eof: filled < length };
  }

  async close(handleId: string): Promise<void> {
    const file = this.#files.get(handleId);
    this.#files.delete(handleId);
    if (file !== undefined && file !== 'opening') await file.close();
  }

  async closeAll(): Promise<void> {
    await Promise.all([...this.#files.keys()].map((handleId) => this.close(handleId)));
  }
}

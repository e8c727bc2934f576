import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { SallyportError } from '../../errors/index.js';

/**
 * Reads a module, at most one byte more than the limit: enough to see that it is too large. What it returns is a copy that
 * nobody else holds: what was checked must be what runs.
 */
export async function loadModule(
  pathOrBytes: string | URL | Uint8Array,
  { moduleBytes }: { readonly moduleBytes: number },
): Promise<Uint8Array> {
  if (pathOrBytes instanceof Uint8Array) return new Uint8Array(pathOrBytes.subarray(0, moduleBytes + 1));
  try {
    // A named pipe would keep a thread waiting until somebody opens its other end.
    await using file = await open(pathOrBytes, constants.O_RDONLY | constants.O_NONBLOCK);
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error(`${String(pathOrBytes)} is not a file`);
    const bytes = new Uint8Array(Math.min(stat.size, moduleBytes + 1));
    let filled = 0;
    while (filled < bytes.length) {
      const { bytesRead } = await file.read(bytes, filled, bytes.length - filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return bytes.subarray(0, filled);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new SallyportError('WASM_MODULE_UNREADABLE', `the module cannot be read: ${reason}`, {}, { cause: error });
  }
}

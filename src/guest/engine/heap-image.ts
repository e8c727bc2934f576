import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Snapshot } from 'quickjs-wasi';
import type { Pointer } from './guest-heap.js';
import { PRELUDE_SOURCE } from './prelude.js';

/**
 * A heap in which the engine is initialised and the prelude has run, made when the package is built. Starting from it takes
 * a few milliseconds; making it takes some fifty.
 */
export interface HeapImage {
  readonly snapshot: Snapshot;
  /** Where the functions of the prelude are. */
  readonly table: Pointer;
}

/** What stands beside the bytes in a file of its own. */
export interface HeapImageFacts extends Omit<Snapshot, 'memory'> {
  readonly memoryBytes: number;
  readonly table: Pointer;
  /** What the image was made of: it fits nothing else. */
  readonly fingerprint: string;
}

const BYTES_FILE = new URL('./heap-image.bin', import.meta.url);
const FACTS_FILE = new URL('./heap-image.json', import.meta.url);

/** Identifies the engine and the prelude that an image belongs to. */
export function imageFingerprint(binaries: readonly Uint8Array[]): string {
  const hash = createHash('sha256').update(PRELUDE_SOURCE);
  for (const bytes of binaries) hash.update(bytes);
  return hash.digest('hex');
}

/** Loads the image that was built with this package. Undefined when there is none, or it was made of something else. */
export async function loadHeapImage(binaries: readonly Uint8Array[]): Promise<HeapImage | undefined> {
  try {
    const [bytes, text] = await Promise.all([readFile(BYTES_FILE), readFile(FACTS_FILE, 'utf8')]);
    const { memoryBytes, table, fingerprint, ...rest }: HeapImageFacts = JSON.parse(text);
    if (fingerprint !== imageFingerprint(binaries)) return undefined;
    // In memory that threads share, so that each process holds it once.
    const memory = new Uint8Array(new SharedArrayBuffer(memoryBytes));
    memory.set(bytes, rest.stackPointer);
    return { snapshot: { ...rest, memory }, table };
  } catch {
    return undefined;
  }
}

/** Splits an image into what is written to the two files. The stack is empty, so it is left out. */
export function packHeapImage(
  { snapshot, table }: HeapImage,
  fingerprint: string,
): { bytes: Uint8Array; facts: HeapImageFacts } {
  const { memory, ...rest } = snapshot;
  return {
    bytes: memory.subarray(rest.stackPointer),
    facts: { ...rest, memoryBytes: memory.byteLength, table, fingerprint },
  };
}

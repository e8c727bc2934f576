import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * How much output passes between two collections, in bytes. Each byte leaves 2.3 bytes of buffers behind; V8 by itself
 * lets 64 MiB of those pile up, and the allocator then keeps the space. A collection of this program's small heap takes
 * 2 to 4 ms.
 */
const COLLECT_EVERY_BYTES = 12 * 1024 * 1024;

/** Makes a counter of bytes that collects garbage now and then. Only for a program whose heap is small and its own. */
export function garbageCollector(everyBytes = COLLECT_EVERY_BYTES): (bytes: number) => void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect !== 'function') return () => {};
  let passed = 0;
  return (bytes) => {
    passed += bytes;
    if (passed < everyBytes) return;
    passed = 0;
    collect();
  };
}

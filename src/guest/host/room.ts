import { GUEST_POLICY, type Policy, withOwnPackage } from '../../sandbox/index.js';
import { MAX_MEMORY_LIMIT_BYTES, PROCESS_HEAP_MIB, ROOM_OVERHEAD_BYTES, ROOM_PROCESSES } from '../limits.js';

/**
 * What a confined shell may reach: the files that it is made of, and nothing else. Its memory has room for the largest
 * guest; the limit of each execution is the engine's to keep.
 */
export function guestRoomPolicy(): Policy {
  const memoryBytes = MAX_MEMORY_LIMIT_BYTES + PROCESS_HEAP_MIB * 1024 * 1024 + ROOM_OVERHEAD_BYTES;
  return withOwnPackage({
    ...GUEST_POLICY,
    limits: { ...GUEST_POLICY.limits, memoryBytes, processes: ROOM_PROCESSES },
  });
}

import { type Policy, WASM_POLICY, withOwnPackage } from '../../sandbox/index.js';
import { MAX_LINEAR_MEMORY_BYTES, ROOM_PROCESSES, RUNTIME_OVERHEAD_BYTES } from '../limits.js';
import type { RuntimeFiles } from '../runtime/runtime.js';

/** What a confined guest may reach: the files of what runs it, and nothing else. Each guest asks for less memory. */
export function wasmRoomPolicy(files: RuntimeFiles = { read: [], write: [] }): Policy {
  const { filesystem, limits } = WASM_POLICY;
  const memoryBytes = MAX_LINEAR_MEMORY_BYTES + RUNTIME_OVERHEAD_BYTES;
  return withOwnPackage({
    ...WASM_POLICY,
    filesystem: { ...filesystem, ...files },
    limits: { ...limits, memoryBytes, processes: ROOM_PROCESSES },
  });
}

import {
  DEFAULT_FILE_SIZE_BYTES,
  DEFAULT_MEMORY_BYTES,
  DEFAULT_OPEN_FILES,
  DEFAULT_PROCESSES,
  DEFAULT_TMP_BYTES,
} from './limits.js';
import type { NetworkPolicy, Policy, ResourceLimits } from './policy.js';

/** The limits of the policies below. */
export const DEFAULT_LIMITS: ResourceLimits = {
  memoryBytes: DEFAULT_MEMORY_BYTES,
  processes: DEFAULT_PROCESSES,
  fileSizeBytes: DEFAULT_FILE_SIZE_BYTES,
  openFiles: DEFAULT_OPEN_FILES,
  tmpBytes: DEFAULT_TMP_BYTES,
};

const NO_FILES = { read: [], write: [], hide: [] } as const;

/** Guests and Wasm modules: no files, no network. What they may do comes in messages. */
export const GUEST_POLICY: Policy = { filesystem: NO_FILES, network: { kind: 'none' }, limits: DEFAULT_LIMITS };
export const WASM_POLICY: Policy = GUEST_POLICY;

/** Commands: their working folder, and no network. */
export function processPolicy(workingFolder: string): Policy {
  return { ...GUEST_POLICY, filesystem: { ...NO_FILES, write: [workingFolder] } };
}

/** Tools: the package tree that they are in, read-only, and the network that was configured for them. */
export function toolPolicy(options: { readonly packageTree: string; readonly network: NetworkPolicy }): Policy {
  return { ...GUEST_POLICY, filesystem: { ...NO_FILES, read: [options.packageTree] }, network: options.network };
}

import { accessSync, constants } from 'node:fs';
import { basename } from 'node:path';

/** What a client learns about the machine that its commands run on. */
export interface EnvironmentInfo {
  readonly shell: { readonly name: string; readonly path: string };
  /** A native path. */
  readonly cwd: string;
  readonly capabilities: Readonly<Record<string, boolean>>;
}

/**
 * What clients of the later dialect ask for before they use it. They fall back to plain requests where the answer is no.
 */
const CAPABILITIES = {
  networkProxyLaunch: false,
  networkProxyReviewDomains: false,
  credentialMasking: false,
  credentialMaskingCustomProviders: false,
  capabilityDiscoverySandbox: false,
  capabilityDiscoveryV2: false,
  environmentConfigRead: false,
  fsWatchMissing: false,
  fileWriteStreaming: false,
  httpHeaderEnvVars: false,
  sandboxedFileStreaming: false,
  shellSnapshotV2: false,
} as const;

/** What Sallyport adds to both dialects; named in the answer to `initialize` of the later one. */
export const ADDITIONS = {
  closeStdin: true,
  resize: true,
  initialSize: true,
  anySignal: true,
  graceMs: true,
  timeoutMs: true,
  list: true,
  wait: true,
  truncated: true,
  maxChunkBytes: true,
} as const;

/** Describes this machine. */
export function environmentInfo(own: Readonly<Record<string, string | undefined>>): EnvironmentInfo {
  const path = [own['SHELL'], '/bin/bash', '/bin/sh'].find(isProgram) ?? '/bin/sh';
  return { shell: { name: basename(path), path }, cwd: process.cwd(), capabilities: CAPABILITIES };
}

function isProgram(path: string | undefined): path is string {
  if (path === undefined || !path.startsWith('/')) return false;
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

import type { NetworkPolicy } from '../sandbox/index.js';

/** What this executor installs and runs, beyond what the protocol says. */
export interface ToolPolicy {
  /** Packages whose install scripts may run, as `name` or `name@range`. None, unless told otherwise. */
  readonly allowScripts: readonly string[];
  /** Packages that are never installed, as a tool or below one, as `name` or `name@range`. */
  readonly deny: readonly string[];
  /** How old a release must be before it is installed, in milliseconds. */
  readonly minReleaseAgeMs: number;
  /** Hosts, addresses or networks (`10.0.0.0/8`) that webhooks may reach although they are private. */
  readonly webhookAllow: readonly string[];
  /** Whether a tree is bundled once so that the next calls load faster. */
  readonly bundle: 'auto' | 'never';
  /**
   * What tools may reach: every public host, unless told otherwise; never loopback, private, link-local or metadata
   * addresses that are not listed. Only a level that confines can hold it.
   */
  readonly network: NetworkPolicy;
}

export const DEFAULT_TOOL_POLICY: ToolPolicy = {
  allowScripts: [],
  deny: [],
  minReleaseAgeMs: 0,
  webhookAllow: [],
  bundle: 'auto',
  network: { kind: 'full' },
};

import { type IsolationLevel, processLevel } from '../sandbox/index.js';
import type { ExecutionKind } from './audit/record.js';

/** What can be asked for: a level for every boundary, or the strongest that this machine enforces. */
export const ISOLATIONS = ['auto', 'process', 'container'] as const;
export type IsolationName = (typeof ISOLATIONS)[number];

/** What confines each boundary. */
export interface Isolation {
  /** What was asked for. */
  readonly asked: IsolationName;
  /** The name of the level that each boundary's processes are spawned at. */
  readonly levels: Readonly<Record<ExecutionKind, string>>;
  /** All levels that a spawner needs to know for that, by name. */
  readonly known: ReadonlyMap<string, IsolationLevel>;
  /** What that means, for people. */
  readonly enforced: Readonly<Record<ExecutionKind, string>>;
}

export type ResolvedIsolation =
  | { readonly ok: true; readonly isolation: Isolation }
  | { readonly ok: false; readonly reason: string };

const PROCESS_MEANS: Readonly<Record<ExecutionKind, string>> = {
  guest: 'QuickJS in WebAssembly, in a process of its own with an empty environment',
  wasm: 'WebAssembly in a process of its own with an empty environment and no file access',
  tool: 'a process of its own with only the given environment; files and network of this user',
  process: 'a process of its own with only the given environment; files and network of this user',
};

/** Finds out what confines each boundary. The one place that knows the levels by name. */
export async function resolveIsolation(asked: IsolationName): Promise<ResolvedIsolation> {
  if (asked === 'container') {
    return {
      ok: false,
      reason: 'the level container is not available in this build: use --isolation process, or auto',
    };
  }
  const probed = await processLevel.probe();
  if (!probed.available) return { ok: false, reason: `the level process cannot be enforced: ${probed.reason}` };
  const { name } = processLevel;
  return {
    ok: true,
    isolation: {
      asked,
      levels: { guest: name, wasm: name, tool: name, process: name },
      known: new Map([[name, processLevel]]),
      enforced: PROCESS_MEANS,
    },
  };
}

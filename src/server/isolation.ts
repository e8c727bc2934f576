import {
  type Command,
  type ContainerLevel,
  containerLevel,
  createSpawner,
  type Enforcement,
  GUEST_POLICY,
  type Policy,
  processLevel,
  type Spawner,
} from '../sandbox/index.js';
import type { ExecutionKind } from './audit/record.js';

/** What can be asked for: a level for every boundary, or the strongest that this machine enforces. */
export const ISOLATIONS = ['auto', 'process', 'container'] as const;
export type IsolationName = (typeof ISOLATIONS)[number];

const KINDS = ['guest', 'wasm', 'tool', 'process'] as const satisfies readonly ExecutionKind[];

/** What confines each boundary. */
export interface Isolation {
  /** What was asked for. */
  readonly asked: IsolationName;
  /** The name of the level that each boundary's processes are spawned at. */
  readonly levels: Readonly<Record<ExecutionKind, 'process' | 'container'>>;
  /** What that means, for people. */
  readonly enforced: Readonly<Record<ExecutionKind, string>>;
  /** How the limits of the level `container` hold on this machine. Nothing where nothing runs at it. */
  readonly limits: Enforcement | undefined;
  /** Why it is not more than that, and how to get it. Nothing when it is all that there is. */
  readonly shortfall: string | undefined;
}

/** What each boundary may reach at the level `container`. */
export type RoomPolicies = Readonly<Record<ExecutionKind, Policy | ((command: Command) => Policy)>>;

/** What confines each boundary, and what starts its processes. */
export interface Confinement {
  readonly isolation: Isolation;
  /** One per boundary, because each has a policy of its own. Whoever asked disposes of them. */
  readonly spawners: Readonly<Record<ExecutionKind, Spawner>>;
}

export type ResolvedConfinement =
  | { readonly ok: true; readonly confinement: Confinement }
  | { readonly ok: false; readonly reason: string };

const OWN_PROCESS = 'in a process of its own with an empty environment';
const THIS_USER = 'a process of its own with only the given environment; files and network of this user';
const ROOM = 'in namespaces of its own, behind a system-call filter';

const MEANS: Readonly<Record<'process' | 'container', Readonly<Record<ExecutionKind, string>>>> = {
  process: {
    guest: `QuickJS in WebAssembly, ${OWN_PROCESS}`,
    wasm: `WebAssembly ${OWN_PROCESS} and no file access`,
    tool: THIS_USER,
    process: THIS_USER,
  },
  container: {
    guest: `QuickJS in WebAssembly, ${ROOM}: no files, no network`,
    wasm: `WebAssembly, ${ROOM}: no files, no network`,
    tool: `a process ${ROOM}: its package to read, the network as configured`,
    process: `a process ${ROOM}: its working folder to write, no network`,
  },
};

/** Guests have an engine around them that has no way to ask the machine for anything, so they take the cheaper level. */
const BEST: Readonly<Record<ExecutionKind, 'process' | 'container'>> = {
  guest: 'process',
  wasm: 'container',
  tool: 'container',
  process: 'container',
};

/** Finds out what confines each boundary. The one place that knows the levels by name. */
export async function resolveConfinement(asked: IsolationName, policies: RoomPolicies): Promise<ResolvedConfinement> {
  const plain = await processLevel.probe();
  if (!plain.available) return { ok: false, reason: `the level process cannot be enforced: ${plain.reason}` };
  const room = containerLevel({ policy: GUEST_POLICY });
  const found = asked === 'process' ? undefined : await room.probe();
  if (asked === 'container' && found?.available === false) {
    return { ok: false, reason: `the level container cannot be enforced: ${found.reason}` };
  }
  const strong = found?.available === true;
  const levelOf = (kind: ExecutionKind) => (asked === 'container' ? 'container' : strong ? BEST[kind] : 'process');
  const each = <Value>(make: (kind: ExecutionKind) => Value): Record<ExecutionKind, Value> => ({
    guest: make('guest'),
    wasm: make('wasm'),
    tool: make('tool'),
    process: make('process'),
  });
  const levels = each(levelOf);
  return {
    ok: true,
    confinement: {
      isolation: {
        asked,
        levels,
        enforced: each((kind) => MEANS[levels[kind]][kind]),
        limits: KINDS.some((kind) => levels[kind] === 'container') ? room.enforcement() : undefined,
        shortfall: found?.available === false ? `the level container is not available: ${found.reason}` : undefined,
      },
      spawners: each((kind) => spawnerOf(levels[kind], room, policies[kind])),
    },
  };
}

function spawnerOf(name: 'process' | 'container', room: ContainerLevel, policy: RoomPolicies[ExecutionKind]): Spawner {
  const level = name === 'process' ? processLevel : room.withPolicy({ policy });
  return createSpawner({ levels: new Map([[level.name, level]]) });
}

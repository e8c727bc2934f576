import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { SallyportError } from '../errors/index.js';
import {
  confiningSpawner,
  type NetworkPolicy,
  OwnedFolder,
  type PolicyRequest,
  processLevel,
  type Spawner,
  sweepOwnedFolders,
} from '../sandbox/index.js';
import type { ToolExecutorOptions } from './executor-options.js';
import { toolRoomPolicy } from './room-policy.js';
import { folderLodgings, type Lodgings, roomLodgings } from './run/lodging.js';

const CONTAINER = 'container';
const SCRATCH_PREFIX = 'sallyport-tools-';

/** What every child of an executor is confined by. */
export interface Confinement extends AsyncDisposable {
  readonly spawner: Spawner;
  readonly level: string;
  /** What of the level's policy children need, where that is less than it grants. */
  readonly policy: PolicyRequest | undefined;
  readonly lodgings: Lodgings;
  /** What holds, in words. */
  readonly means: string;
}

function networkWords(network: NetworkPolicy): string {
  if (network.kind === 'allow') return `network: ${network.hosts.join(', ')}`;
  if (network.kind === 'full') return ['network: every public host', ...(network.hosts ?? [])].join(', ');
  return { none: 'no network', loopback: 'a loopback of its own', host: 'the network of the machine' }[network.kind];
}

function meansOf(level: string, network: NetworkPolicy | undefined): string {
  if (level !== CONTAINER)
    return 'a process of its own with only the given environment; files and network of this user';
  const words = network === undefined ? 'the network that it was granted' : networkWords(network);
  return `a process in namespaces of its own, behind a system-call filter, with limits; packages read-only, folders of its own in memory; ${words}`;
}

/** Says that a list of hosts without a room around the tool would be no more than a wish. */
function checkNetwork(level: string, network: NetworkPolicy | undefined): void {
  if (level === CONTAINER || network === undefined || network.kind === 'full' || network.kind === 'host') return;
  throw new SallyportError(
    'POLICY_INVALID',
    `policy.network is ${network.kind}, which the level ${JSON.stringify(level)} cannot hold: use the level container`,
    { field: 'policy.network' },
  );
}

/** Prepares the confinement of an executor. Throws POLICY_INVALID for what the level cannot hold. */
export function confine(options: ToolExecutorOptions, cacheDir: string): Confinement {
  const { level = processLevel.name, policy = {}, spawner: given } = options;
  const { network } = policy;
  checkNetwork(level, network);
  const spawner =
    given ?? confiningSpawner(toolRoomPolicy({ cacheDir, ...(network === undefined ? {} : { network }) }));
  const scratchParent = resolve(options.scratchDir ?? tmpdir());
  // In a room nothing is written to the machine, so there is nothing to make and nothing that could stay.
  const scratch = level === CONTAINER ? undefined : new OwnedFolder(scratchParent, SCRATCH_PREFIX);
  void sweepOwnedFolders(scratchParent, SCRATCH_PREFIX);
  return {
    spawner,
    level,
    policy: level === CONTAINER && network !== undefined ? { network } : undefined,
    lodgings: scratch === undefined ? roomLodgings : folderLodgings(join(scratch.path, 'children')),
    means: meansOf(level, given === undefined ? (network ?? { kind: 'full' }) : network),
    async [Symbol.asyncDispose]() {
      if (given === undefined) await spawner.dispose();
      await scratch?.[Symbol.asyncDispose]();
    },
  };
}

import { isSallyportError } from '../errors/index.js';
import {
  createSpawner,
  type NetworkPolicy,
  type ProxyDecision,
  resolveIsolation,
  type Spawner,
} from '../sandbox/index.js';
import { toolRoomPolicy } from '../tool/index.js';
import { CliError } from './exit.js';
import { networkOf } from './network-option.js';
import type { ToolIsolationFlags } from './tool-isolation-options.js';

/** What starts the children of an executor, and what holds for them. */
export interface ToolIsolation {
  readonly spawner: Spawner;
  readonly level: 'container' | 'process';
  /** Why this level. */
  readonly reason: string;
  readonly network: NetworkPolicy | undefined;
}

/** Finds out what can confine tools. What was asked for and cannot be had is an error with the reason. */
export async function toolIsolation(
  flags: ToolIsolationFlags,
  cacheDir: string,
  onDecision?: (decision: ProxyDecision) => void,
): Promise<ToolIsolation> {
  const network = flags.net.length === 0 ? undefined : networkOf(flags.net);
  try {
    const policy = toolRoomPolicy({ cacheDir, ...(network === undefined ? {} : { network }) });
    const isolation = await resolveIsolation(flags.isolation, {
      policy,
      ...(onDecision === undefined ? {} : { onDecision }),
    });
    const { name: level, reason, levels } = isolation;
    if (level === 'process' && network !== undefined && network.kind !== 'full') {
      throw new CliError(`--net needs the level container: ${reason}`);
    }
    return { spawner: createSpawner({ levels }), level, reason, network };
  } catch (error) {
    if (isSallyportError(error)) throw new CliError(error.message);
    throw error;
  }
}

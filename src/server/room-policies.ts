import { resolve } from 'node:path';
import { guestRoomPolicy } from '../guest/index.js';
import { type ExecPolicy, execPolicy } from '../process/index.js';
import type { Policy, ResourceLimits } from '../sandbox/index.js';
import { toolRoomPolicy } from '../tool/index.js';
import { wasmRoomPolicy } from '../wasm/index.js';
import type { RoomPolicies } from './isolation.js';
import type { ServerOptions } from './options.js';

/** What each boundary of a server may reach at the level `container`. */
export interface ServerPolicies {
  readonly rooms: RoomPolicies;
  /** The one of commands again, with what holds for `fs/*` and `http/request`. */
  readonly exec: ExecPolicy;
}

function limited(policy: Policy, limits: ResourceLimits | undefined): Policy {
  return { ...policy, limits: { ...policy.limits, ...limits } };
}

/** Puts the policies of a server together. Throws POLICY_INVALID. */
export function serverPolicies(options: ServerOptions): ServerPolicies {
  const { policies = {}, workspace = [], protect = [], wasmDir } = options;
  const cacheDir = resolve(options.cacheDir);
  const exec = execPolicy({
    ...policies.process,
    workspace,
    // What the server itself runs or reads later must not be a command's to change.
    protect: [cacheDir, ...(wasmDir === undefined ? [] : [wasmDir]), ...protect],
  });
  return {
    exec,
    rooms: {
      guest: limited(guestRoomPolicy(), policies.guest?.limits),
      wasm: limited(wasmRoomPolicy(), policies.wasm?.limits),
      tool: toolRoomPolicy({ ...policies.tool, cacheDir }),
      process: exec.forCommand,
    },
  };
}

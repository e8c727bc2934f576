import { resolve } from 'node:path';
import { guestRoomPolicy } from '../guest/index.js';
import { processPolicy, toolPolicy } from '../sandbox/index.js';
import { wasmRoomPolicy } from '../wasm/index.js';
import type { RoomPolicies } from './isolation.js';
import type { ServerOptions } from './options.js';

/** What each boundary of a server may reach at the level `container`. */
export function roomPolicies(options: ServerOptions): RoomPolicies {
  return {
    guest: guestRoomPolicy(),
    wasm: wasmRoomPolicy(),
    tool: toolPolicy({ packageTree: resolve(options.cacheDir), network: { kind: 'full' } }),
    process: ({ cwd }) => processPolicy(cwd),
  };
}

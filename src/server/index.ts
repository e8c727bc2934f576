export { SUBPROTOCOL, subprotocolOf } from './access/judge.js';
export type { Boundary, Key, KeyPolicy } from './access/keys.js';
export { BOUNDARIES, hashKey, isKeyHash, keyProblem, makeKey } from './access/keys.js';
export type { AuditEvent, Capability, ExecutionKind, ExecutionRecord, Outcome } from './audit/record.js';
export type { AuditTrail, Filter, Page } from './audit/trail.js';
export { type LayeredConfig, layerConfig, type Origin, VARIABLES } from './config/layers.js';
export { checkConfig, parseConfig } from './config/parse.js';
export { defineConfig, LOG_LEVELS, type ServeConfig } from './config/schema.js';
export {
  type Confinement,
  ISOLATIONS,
  type Isolation,
  type IsolationName,
  type ResolvedConfinement,
  type RoomPolicies,
  resolveConfinement,
} from './isolation.js';
export { DEFAULT_SERVER_LIMITS, MIN_KEY_CHARS, type ServerLimits, SPARE_HANDLES } from './limits.js';
export type { ServerOptions } from './options.js';
export { createServer, type Reload, type SallyportServer } from './server.js';

export { confiningSpawner } from './confining-spawner.js';
export { type ContainerLevel, type ContainerOptions, containerLevel } from './container/container-level.js';
export type { Enforcement, Hold } from './container/enforcement.js';
export { ownPackageFolder, ownPackagePaths, withOwnPackage } from './container/own-package.js';
export { beneath } from './container/paths.js';
export { DEFAULT_LIMITS, GUEST_POLICY, processPolicy, toolPolicy, WASM_POLICY } from './container/policies.js';
export {
  checkPolicy,
  type FilesystemPolicy,
  type NetworkPolicy,
  narrow,
  type Policy,
  type PolicyRequest,
  type ResourceLimits,
} from './container/policy.js';
export type { Passage, ProxyDecision } from './container/proxy/gate.js';
export { type NetworkGate, networkGate } from './container/proxy/network-gate.js';
export { type ShownByRooms, shownByRooms } from './container/shown.js';
export { guard, sharedGuardian } from './guardian.js';
export type { InputStream } from './input.js';
export { type IsolationChoice, type ResolvedIsolation, resolveIsolation } from './isolation.js';
export type { ExtraPipe } from './launch.js';
export type { Aftermath, Availability, Invocation, IsolationLevel, LimitHit } from './level.js';
export { DEFAULT_INPUT_QUEUE_BYTES, DEFAULT_KILL_GRACE_MS, DEFAULT_SEARCH_PATH } from './limits.js';
export type { OutputStream } from './output.js';
export { OwnedFolder, sweepOwnedFolders } from './owned-folder.js';
export type { Priority } from './priority.js';
export { type Finding, type MachineReport, probeMachine } from './probe.js';
export { processLevel } from './process-level.js';
export { StartMark } from './process-table.js';
export { removeTree } from './remove-tree.js';
export type { Command, PipeStdio, SpawnLimits, SpawnRequest, TerminalSize, TerminalStdio } from './request.js';
export { findProgram } from './resolve-program.js';
export type { ExitStatus, ResourceUsage, SpawnedProcess } from './spawned-process.js';
export { createSpawner, type Spawner, type SpawnerOptions } from './spawner.js';

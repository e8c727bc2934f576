export type { InputStream } from './input.js';
export type { ExtraPipe } from './launch.js';
export type { Availability, Invocation, IsolationLevel } from './level.js';
export { DEFAULT_INPUT_QUEUE_BYTES, DEFAULT_KILL_GRACE_MS, DEFAULT_SEARCH_PATH } from './limits.js';
export type { OutputStream } from './output.js';
export { processLevel } from './process-level.js';
export type { Command, PipeStdio, SpawnLimits, SpawnRequest, TerminalSize, TerminalStdio } from './request.js';
export type { ExitStatus, ResourceUsage, SpawnedProcess } from './spawned-process.js';
export { createSpawner, type Spawner, type SpawnerOptions } from './spawner.js';

export {
  ExecClient,
  type ExecClientOptions,
  type HttpOptions,
  type StartOptions,
  type WebSocketClientOptions,
} from './client/exec-client.js';
export {
  CLIENT_BUFFER_BYTES,
  CLIENT_BUFFER_EVENTS,
  HANDSHAKE_TIMEOUT_MS,
  RESUME_PAUSE_MAX_MS,
  RESUME_PAUSE_MS,
  RESUME_TIMEOUT_MS,
} from './client/limits.js';
export type { FileAccess, ReadOutput } from './client/peer.js';
export type { OutputPiece, ProcessExit, ProcessHandle } from './client/process-handle.js';
export { type ServerCommand, type SpawnedExecServer, spawnLocalExecServer } from './client/spawn-local.js';
export type { ConnectionOptions, ServedConnection } from './connection.js';
export type { EnvPolicy } from './env-policy.js';
export type { EnvironmentInfo } from './environment.js';
export type { SessionEvent, SessionSink } from './events.js';
export { ExecError, REFUSAL_CODES, type RefusalKind } from './exec-error.js';
export { type ExecPolicy, type ExecPolicyOptions, execPolicy } from './exec-policy.js';
export { createExecServer, type ExecServer, type ExecServerOptions } from './exec-server.js';
export type { DirectoryEntry, FileMetadata } from './fs/file-system.js';
export type { FileScope } from './fs/scope.js';
export type { WalkOptions, WalkResult } from './fs/walk.js';
export type { ExecHandler, ProcessSummary, ReadParams, StartParams } from './handler.js';
export type { HttpRequest, HttpResponse, NetworkPolicy, NetworkTarget } from './http-request.js';
export { DEFAULT_PROCESS_LIMITS, type ProcessLimits, processLimits } from './limits.js';
export type {
  Dialect,
  ExecClosedNotification,
  ExecExitedNotification,
  ExecOutputDeltaNotification,
  HttpBodyDeltaNotification,
  HttpHeader,
  InitializeParams,
  OutputChunk,
  ReadResponse,
  StreamName,
  WriteStatus,
} from './messages.js';
export type { AskedProcess, ExecObserver, ObservedSession, ProcessWatcher, RequestWatcher } from './observer.js';
export type { SandboxRequest } from './sandbox-request.js';
export type { Access } from './workspace.js';

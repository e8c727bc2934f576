export type { ExecutionEvent } from './host/events.js';
export {
  createExecutor,
  type ExecuteLimits,
  type ExecuteOptions,
  type Executor,
  type ExecutorOptions,
  type ExecutorStats,
} from './host/executor.js';
export { createRemoteExecutor, type RemoteExecutorOptions } from './host/remote-executor.js';
export { guestRoomPolicy } from './host/room.js';
export { type RunSessionOptions, runSession } from './host/run-session.js';
export type { GuestIsolation } from './host/shell.js';
export {
  DEFAULT_MAX_CODE_BYTES,
  DEFAULT_MAX_LOG_CHARS,
  DEFAULT_MAX_LOG_LINES,
  DEFAULT_MEMORY_LIMIT_BYTES,
  DEFAULT_TIMEOUT_MS,
  KILL_GRACE_MS,
  MESSAGE_BUDGET,
} from './limits.js';
export {
  EXECUTE_ERROR_CODES,
  type ExecuteError,
  type ExecuteErrorCode,
  type ExecuteResult,
  type ExecutorRuntimeOptions,
  type HostMessage,
  isExecuteErrorCode,
  type RunnerMessage,
} from './messages.js';
export {
  type AskedExecution,
  type AttachedRunner,
  attachRunner,
  createRunnerShells,
  type ExecutionVerdict,
  type RunnerOptions,
  type RunnerShells,
  type RunnerShellsOptions,
} from './runner/attach-runner.js';
export { sourceFrame, stripModuleTypes } from './source/index.js';

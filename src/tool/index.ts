export { ToolClient, type ToolClientCall, type ToolClientOptions } from './client.js';
export type { ToolEvent } from './event-log.js';
export type { Execution } from './execution.js';
export { createToolExecutor, type ToolExecutor } from './executor.js';
export type { RequestOptions, ToolExecutorOptions } from './executor-options.js';
export { type ToolFailure, ToolFailureError } from './failure.js';
export { CORS_HEADERS, VERSION_HEADER } from './http/cors.js';
export { openApiDocument } from './http/openapi.js';
export { type ExecutionDirectory, type ToolRoutesOptions, toolRoutes } from './http/routes.js';
export { toolServerOptions } from './http/server-options.js';
export type { Freshness } from './install/resolver.js';
export { DEFAULT_TOOL_LIMITS, type ToolLimits } from './limits.js';
export {
  type AsyncAccepted,
  type BatchResponse,
  type ErrorResponse,
  type ExecuteAsyncInput,
  type ExecuteBatchInput,
  type ExecuteToolInput,
  type ExecuteToolResponse,
  type ExecutionStatus,
  type HealthResponse,
  type InfoResponse,
  type LoadAndDescribeResponse,
  type LogLine,
  PROTOCOL_VERSION,
  type Timings,
  TOOL_ERROR_CODES,
  type ToolErrorBody,
  type ToolErrorCode,
  type ValidateToolInput,
  type ValidateToolResponse,
} from './messages.js';
export { DEFAULT_TOOL_POLICY, type ToolPolicy } from './policy.js';
export { type ToolRoomOptions, toolRoomPolicy } from './room-policy.js';
export type { ToolStats } from './stats.js';

export { type CallContext, callTool, type ToolErrorCode, type ToolOutcome } from './call-tool.js';
export { closestName, editDistance } from './closest.js';
export { describeTools } from './declarations/describe-tools.js';
export { formatIssues, type Issue } from './issues.js';
export {
  MAX_ERROR_MESSAGE_CHARS,
  MAX_LISTED_TOOLS,
  MAX_REPORTED_ISSUES,
  MAX_TOOL_NAME_CHARS,
  MAX_VALIDATION_READS,
  MAX_VALIDATION_STEPS,
} from './limits.js';
export { type ProviderManifest, type ToolManifest, toManifest } from './manifest.js';
export { assertNamespace, assertProviders, sanitizeToolName, sanitizeToolNames } from './names.js';
export { GUEST_GLOBALS, RESERVED_WORDS } from './reserved.js';
export type { CompiledSchema, InputOf, JsonSchema, ResultOf, Schema } from './schema.js';
export { clipMessage, messageOfThrown } from './thrown.js';
export {
  defineTools,
  isToolProvider,
  type Tool,
  type ToolContext,
  type ToolDefinition,
  type ToolDefinitions,
  type ToolFunction,
  type ToolProvider,
} from './tools.js';

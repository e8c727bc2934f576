import type { Specification } from '../specification.js';
import { sectionsOf } from './sections.js';

const section = sectionsOf('tpmjs');
const RESERVED = 'reserved for a later version, which says how it works';

/** The normative sentences of the TPMJS executor protocol 1.0. Facts of the tables count as sentences. */
export const TPMJS_EXECUTOR: Specification = {
  id: 'tpmjs-executor',
  title: 'TPMJS executor protocol 1.0',
  sentences: [
    ...section(
      'Version Header',
      ['versioning.header', 'All requests SHOULD include X-TPMJS-Protocol-Version'],
      ['versioning.respond', 'MUST respond with their supported protocol version in /health and /info'],
    ),
    ...section(
      'Specification Levels',
      ['levels.core', 'Every executor MUST implement /health and /execute-tool'],
      ['levels.standard', 'Executors SHOULD implement /info'],
      ['levels.stream', 'POST /execute-tool with Accept: text/event-stream', RESERVED],
      ['levels.async', 'POST /execute-async', RESERVED],
      ['levels.validate', 'POST /validate-tool', RESERVED],
      ['levels.batch', 'POST /execute-batch', RESERVED],
    ),
    ...section(
      'GET /health',
      ['health.ok', 'MUST return 200 OK if healthy; status is always "ok"'],
      ['health.version', 'MUST include protocolVersion'],
      ['health.implementation', 'implementationVersion: string, required'],
      ['health.optional', 'runtime: string; timestamp: ISO 8601'],
      ['health.quick', 'MUST respond within 1 second'],
    ),
    ...section(
      'POST /execute-tool: request',
      ['request.package', 'packageName: string, required: npm package name'],
      ['request.version', 'version: string: package version (default: "latest")'],
      ['request.name', 'name: string, required: tool export name'],
      ['request.params', 'params: object: parameters passed to tool.execute()'],
      ['request.env', 'env: object: environment variables for execution'],
    ),
    ...section(
      'POST /execute-tool: response',
      ['response.success', 'success: boolean, required'],
      ['response.output', 'output: return value from tool.execute()'],
      ['response.error', 'error.code and error.message: strings, if failed'],
      ['response.time', 'executionTimeMs: number, required'],
    ),
    ...section(
      'Error Codes',
      ['codes.package-not-found', 'PACKAGE_NOT_FOUND: npm package could not be installed'],
      ['codes.tool-not-found', 'TOOL_NOT_FOUND: named export not found in package'],
      ['codes.tool-invalid', 'TOOL_INVALID: export exists but has no .execute() method'],
      ['codes.tool-error', 'TOOL_EXECUTION_ERROR: tool threw during execution'],
      ['codes.timeout', 'EXECUTION_TIMEOUT: execution exceeded time limit'],
      [
        'codes.internal',
        'INTERNAL_ERROR: unexpected executor error',
        'nobody outside can make an executor break in itself',
      ],
    ),
    ...section(
      'GET /info',
      ['info.fields', 'name, version, protocolVersion, capabilities, runtime'],
      ['info.isolation', 'isolation: "none" | "process" | "container" | "vm"'],
      ['info.modes', 'executionModes: ["sync"]'],
      ['info.limits', 'maxExecutionTimeMs and maxRequestBodyBytes: number'],
      ['info.reserved', 'supportsStreaming, supportsCallbacks, supportsCaching: boolean'],
      ['info.process', 'process: tools run in separate OS process'],
      [
        'info.stronger',
        'container and vm: tools run in isolated container or VM',
        'what a tool sees does not tell a container from a good imitation',
      ],
    ),
    ...section(
      'Authentication',
      ['auth.bearer', 'MAY require authentication via Bearer token'],
      ['auth.if-set', 'If set: all requests MUST include valid Bearer token'],
      ['auth.if-unset', 'If unset: no authentication required'],
      [
        'auth.variable',
        'SHOULD use EXECUTOR_API_KEY environment variable',
        'where the key of a running server comes from does not show',
      ],
      ['auth.unauthorized', '401 with code UNAUTHORIZED'],
    ),
    ...section(
      'CORS Requirements',
      ['cors.support', 'All executors MUST support CORS'],
      ['cors.origin', 'Access-Control-Allow-Origin: *'],
      ['cors.methods', 'Access-Control-Allow-Methods: GET, POST, OPTIONS'],
      ['cors.headers', 'Access-Control-Allow-Headers: Content-Type, Authorization, X-TPMJS-Protocol-Version'],
      ['cors.preflight', 'All endpoints MUST handle OPTIONS requests with 200 OK'],
    ),
    ...section(
      'Execution Lifecycle',
      ['lifecycle.validate', 'Parse JSON body, validate required fields'],
      ['lifecycle.auth', 'Verify API key if configured'],
      ['lifecycle.isolate', 'Create temporary execution environment'],
      ['lifecycle.install', 'Run npm install <package>@<version>'],
      ['lifecycle.execute', 'Call tool.execute(params) with environment'],
      ['lifecycle.cleanup', 'Remove temporary files/processes'],
    ),
    ...section(
      'Tool Resolution',
      ['resolution.execute', 'MUST resolve a callable tool with an .execute() method'],
      ['resolution.named', 'pkg[name]: direct named export'],
      ['resolution.default-property', 'pkg.default?.[name]: named property on default export'],
      ['resolution.default', 'pkg.default: default export itself (if name matches)'],
      ['resolution.factory', 'a function without .execute(): try calling tool() with no arguments'],
    ),
    ...section(
      'Timeouts',
      ['timeouts.enforce', 'MUST enforce execution timeouts'],
      ['timeouts.code', 'MUST return EXECUTION_TIMEOUT error code when exceeded'],
      ['timeouts.cleanup', 'MUST clean up resources on timeout'],
      ['timeouts.minimum', 'Tool execution: minimum 60s'],
      [
        'timeouts.install',
        'npm install: minimum 30s; total request: minimum 90s',
        'an install that takes half a minute and fails would have to be waited for',
      ],
    ),
    ...section(
      'Error Handling',
      ['errors.status-200', '200: successful execution OR tool error (with success: false)'],
      ['errors.status-400', '400: invalid request (missing fields, malformed JSON)'],
      ['errors.status-401', '401: authentication required but missing/invalid'],
      ['errors.status-404', '404: unknown endpoint'],
      ['errors.status-500', '500: internal executor error', 'nobody outside can make an executor break in itself'],
      ['errors.structured', 'All error responses MUST include success, error.code and error.message'],
    ),
    ...section(
      'Implementation Checklist: Extended',
      ['extended.caching', 'Package caching'],
      [
        'extended.concurrency',
        'Concurrent execution limiting',
        'nothing announces the limit, and calls that wait for it look like slow ones',
      ],
      ['extended.api-routes', 'Support for both /path and /api/path routes'],
      ['extended.metadata', 'Region/metadata in /info response'],
    ),
  ],
};

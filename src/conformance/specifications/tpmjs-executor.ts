import type { Sentence, Specification } from '../specification.js';

type Row = readonly [name: string, quote: string, untested?: string];

function section(id: string, title: string, rows: readonly Row[]): Sentence[] {
  return rows.map(([name, quote, untested]) => ({
    id: `tpmjs.${id}.${name}`,
    section: title,
    quote,
    ...(untested === undefined ? {} : { untested }),
  }));
}

const RESERVED = 'reserved for a later version, which says how it works';

/** The normative sentences of the TPMJS executor protocol 1.0. Facts of the tables count as sentences. */
export const TPMJS_EXECUTOR: Specification = {
  id: 'tpmjs-executor',
  title: 'TPMJS executor protocol 1.0',
  sentences: [
    ...section('versioning', 'Version Header', [
      ['header', 'All requests SHOULD include X-TPMJS-Protocol-Version'],
      ['respond', 'MUST respond with their supported protocol version in /health and /info'],
    ]),
    ...section('levels', 'Specification Levels', [
      ['core', 'Every executor MUST implement /health and /execute-tool'],
      ['standard', 'Executors SHOULD implement /info'],
      ['stream', 'POST /execute-tool with Accept: text/event-stream', RESERVED],
      ['async', 'POST /execute-async', RESERVED],
      ['validate', 'POST /validate-tool', RESERVED],
      ['batch', 'POST /execute-batch', RESERVED],
    ]),
    ...section('health', 'GET /health', [
      ['ok', 'MUST return 200 OK if healthy; status is always "ok"'],
      ['version', 'MUST include protocolVersion'],
      ['implementation', 'implementationVersion: string, required'],
      ['optional', 'runtime: string; timestamp: ISO 8601'],
      ['quick', 'MUST respond within 1 second'],
    ]),
    ...section('request', 'POST /execute-tool: request', [
      ['package', 'packageName: string, required: npm package name'],
      ['version', 'version: string: package version (default: "latest")'],
      ['name', 'name: string, required: tool export name'],
      ['params', 'params: object: parameters passed to tool.execute()'],
      ['env', 'env: object: environment variables for execution'],
    ]),
    ...section('response', 'POST /execute-tool: response', [
      ['success', 'success: boolean, required'],
      ['output', 'output: return value from tool.execute()'],
      ['error', 'error.code and error.message: strings, if failed'],
      ['time', 'executionTimeMs: number, required'],
    ]),
    ...section('codes', 'Error Codes', [
      ['package-not-found', 'PACKAGE_NOT_FOUND: npm package could not be installed'],
      ['tool-not-found', 'TOOL_NOT_FOUND: named export not found in package'],
      ['tool-invalid', 'TOOL_INVALID: export exists but has no .execute() method'],
      ['tool-error', 'TOOL_EXECUTION_ERROR: tool threw during execution'],
      ['timeout', 'EXECUTION_TIMEOUT: execution exceeded time limit'],
      ['internal', 'INTERNAL_ERROR: unexpected executor error', 'nobody outside can make an executor break in itself'],
    ]),
    ...section('info', 'GET /info', [
      ['fields', 'name, version, protocolVersion, capabilities, runtime'],
      ['isolation', 'isolation: "none" | "process" | "container" | "vm"'],
      ['modes', 'executionModes: ["sync"]'],
      ['limits', 'maxExecutionTimeMs and maxRequestBodyBytes: number'],
      ['reserved', 'supportsStreaming, supportsCallbacks, supportsCaching: boolean'],
      ['process', 'process: tools run in separate OS process'],
      [
        'stronger',
        'container and vm: tools run in isolated container or VM',
        'what a tool sees does not tell a container from a good imitation',
      ],
    ]),
    ...section('auth', 'Authentication', [
      ['bearer', 'MAY require authentication via Bearer token'],
      ['if-set', 'If set: all requests MUST include valid Bearer token'],
      ['if-unset', 'If unset: no authentication required'],
      [
        'variable',
        'SHOULD use EXECUTOR_API_KEY environment variable',
        'where the key of a running server comes from does not show',
      ],
      ['unauthorized', '401 with code UNAUTHORIZED'],
    ]),
    ...section('cors', 'CORS Requirements', [
      ['support', 'All executors MUST support CORS'],
      ['origin', 'Access-Control-Allow-Origin: *'],
      ['methods', 'Access-Control-Allow-Methods: GET, POST, OPTIONS'],
      ['headers', 'Access-Control-Allow-Headers: Content-Type, Authorization, X-TPMJS-Protocol-Version'],
      ['preflight', 'All endpoints MUST handle OPTIONS requests with 200 OK'],
    ]),
    ...section('lifecycle', 'Execution Lifecycle', [
      ['validate', 'Parse JSON body, validate required fields'],
      ['auth', 'Verify API key if configured'],
      ['isolate', 'Create temporary execution environment'],
      ['install', 'Run npm install <package>@<version>'],
      ['execute', 'Call tool.execute(params) with environment'],
      ['cleanup', 'Remove temporary files/processes'],
    ]),
    ...section('resolution', 'Tool Resolution', [
      ['execute', 'MUST resolve a callable tool with an .execute() method'],
      ['named', 'pkg[name]: direct named export'],
      ['default-property', 'pkg.default?.[name]: named property on default export'],
      ['default', 'pkg.default: default export itself (if name matches)'],
      ['factory', 'a function without .execute(): try calling tool() with no arguments'],
    ]),
    ...section('timeouts', 'Timeouts', [
      ['enforce', 'MUST enforce execution timeouts'],
      ['code', 'MUST return EXECUTION_TIMEOUT error code when exceeded'],
      ['cleanup', 'MUST clean up resources on timeout'],
      ['minimum', 'Tool execution: minimum 60s'],
      [
        'install',
        'npm install: minimum 30s; total request: minimum 90s',
        'an install that takes half a minute and fails would have to be waited for',
      ],
    ]),
    ...section('errors', 'Error Handling', [
      ['status-200', '200: successful execution OR tool error (with success: false)'],
      ['status-400', '400: invalid request (missing fields, malformed JSON)'],
      ['status-401', '401: authentication required but missing/invalid'],
      ['status-404', '404: unknown endpoint'],
      ['status-500', '500: internal executor error', 'nobody outside can make an executor break in itself'],
      ['structured', 'All error responses MUST include success, error.code and error.message'],
    ]),
    ...section('extended', 'Implementation Checklist: Extended', [
      ['caching', 'Package caching'],
      ['concurrency', 'Concurrent execution limiting'],
      ['api-routes', 'Support for both /path and /api/path routes'],
      ['metadata', 'Region/metadata in /info response'],
    ]),
  ],
};

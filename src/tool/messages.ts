import { z } from 'zod';
import { packageNameProblem, versionKind } from './package-names.js';

/*
 * The wire types. These schemas validate every request, and the OpenAPI document is made from them.
 */

/** The protocol version this executor speaks. */
export const PROTOCOL_VERSION = '1.0';

/** The codes that travel in `error.code`. The first six and UNAUTHORIZED are the specification's. */
export const TOOL_ERROR_CODES = [
  'PACKAGE_NOT_FOUND',
  'TOOL_NOT_FOUND',
  'TOOL_INVALID',
  'TOOL_EXECUTION_ERROR',
  'EXECUTION_TIMEOUT',
  'INTERNAL_ERROR',
  'UNAUTHORIZED',
  'FORBIDDEN',
  'INVALID_REQUEST',
  'PAYLOAD_TOO_LARGE',
  'UNSUPPORTED_MEDIA_TYPE',
  'NOT_FOUND',
  'IDEMPOTENCY_CONFLICT',
  'INTEGRITY_MISMATCH',
  'NOT_CACHED',
  'EXECUTION_CANCELLED',
  'DEPENDENCY_FAILED',
  'OVERLOADED',
] as const;

export type ToolErrorCode = (typeof TOOL_ERROR_CODES)[number];

const NAME_CHARACTERS = 256;
const ID_CHARACTERS = 128;
const URL_CHARACTERS = 2_048;
const INTEGRITY_CHARACTERS = 1_024;

const packageName = z
  .string()
  .min(1)
  .superRefine((name, context) => {
    const problem = packageNameProblem(name);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  })
  .meta({
    description: 'npm package name. No path, URL, alias or option.',
    examples: ['@tpmjs/hello'],
    maxLength: 214,
  });

const version = z
  .string()
  .refine((text) => versionKind(text) !== undefined, 'is neither an exact version, nor a range, nor a dist-tag')
  .meta({ description: 'An exact version, a range or a dist-tag.', examples: ['latest', '1.2.3', '^1'] });

const exportName = z
  .string()
  .min(1, 'must not be empty')
  .max(NAME_CHARACTERS)
  .refine((text) => !/[\x00-\x1f\x7f]/.test(text), 'must not contain control characters')
  .meta({ description: 'Tool export name.' });

// Any object, as it is: keys such as `__proto__` are a tool's own business and arrive as own properties.
const jsonObject = z
  .custom<Readonly<Record<string, unknown>>>(
    (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
    'must be an object',
  )
  .meta({ type: 'object' });
const params = jsonObject
  .nullish()
  .transform((value) => value ?? {})
  .meta({ description: 'Parameters passed to tool.execute(); null is {}.' });
const env = z
  .record(z.string(), z.string())
  .nullish()
  .transform((value) => value ?? {})
  .meta({ description: 'Environment variables for execution. Names that change how programs start are refused.' });
const integrity = z
  .string()
  .max(INTEGRITY_CHARACTERS)
  .regex(
    /^sha(1|256|384|512)-[A-Za-z0-9+/=]+(\s+sha(1|256|384|512)-[A-Za-z0-9+/=]+)*$/,
    'is not a subresource integrity',
  )
  .meta({ description: 'Pins the package: a tarball with another hash is refused.' });
const timeoutMs = z.int().min(1).meta({ description: 'A shorter limit for import and execution, in milliseconds.' });

const toolFields = {
  packageName,
  version: version.default('latest'),
  name: exportName,
  params,
  env,
  integrity: integrity.optional(),
  timeoutMs: timeoutMs.optional(),
};

/** Body of POST /execute-tool. */
export const ExecuteToolRequest = z.object(toolFields).meta({ id: 'ExecuteToolRequest' });

/** Where the result of an async execution is sent. */
export const Callback = z
  .object({
    url: z.url({ protocol: /^https?$/ }).max(URL_CHARACTERS),
    secret: z.string().min(8).max(URL_CHARACTERS).optional(),
  })
  .meta({
    id: 'Callback',
    description: 'A webhook, signed as Standard Webhooks say. Without a secret one is made and returned.',
  });

/** Body of POST /execute-async. */
export const ExecuteAsyncRequest = z
  .object({ ...toolFields, callback: Callback.optional() })
  .meta({ id: 'ExecuteAsyncRequest' });

/** Body of POST /validate-tool. */
export const ValidateToolRequest = z
  .object({
    ...toolFields,
    params: jsonObject.nullish().meta({ description: 'Checked against the input schema when given.' }),
    deep: z
      .boolean()
      .default(false)
      .meta({ description: 'Import the package in the sandbox; execute() is never called.' }),
  })
  .meta({ id: 'ValidateToolRequest' });

/** Body of POST /load-and-describe. */
export const LoadAndDescribeRequest = z
  .object({ packageName, version: version.default('latest'), name: exportName, env })
  .meta({ id: 'LoadAndDescribeRequest' });

/** One item of a batch. What is wrong with it fails this item alone, so its tool fields are checked one by one. */
export const BatchItem = z
  .looseObject({
    id: z.string().min(1).max(ID_CHARACTERS).optional(),
    dependsOn: z.array(z.string()).optional(),
  })
  .meta({
    id: 'BatchItem',
    description:
      'The fields of ExecuteToolRequest, and an id. In dag mode params may hold {"$from": "id", "path": "/json/pointer"}.',
  });

/** Body of POST /execute-batch. */
export const ExecuteBatchRequest = z
  .object({
    items: z.array(z.unknown()).min(1).meta({ description: 'Each a BatchItem.' }),
    mode: z.enum(['parallel', 'sequential', 'dag']).default('parallel'),
    concurrency: z.int().min(1).optional(),
    stopOnError: z.boolean().default(false),
  })
  .meta({ id: 'ExecuteBatchRequest' });

export const ToolErrorBody = z
  .object({
    code: z.enum(TOOL_ERROR_CODES),
    message: z.string(),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: 'ToolError' });

/** Any error outside an execution. */
export const ErrorResponse = z
  .object({ success: z.literal(false), error: ToolErrorBody })
  .meta({ id: 'ErrorResponse' });

const Timings = z.object({
  resolveMs: z.number(),
  installMs: z.number(),
  loadMs: z.number(),
  executeMs: z.number(),
  queueMs: z.number(),
});
const LogLine = z.object({ stream: z.enum(['stdout', 'stderr']), text: z.string(), seq: z.number() });

const extras = {
  executionTimeMs: z.number(),
  executionId: z.string(),
  timings: Timings.optional(),
  cache: z.enum(['hit', 'miss']).optional(),
  resolved: z.object({ version: z.string(), integrity: z.string().optional() }).optional(),
  logs: z.array(LogLine).optional(),
  logsTruncated: z.boolean().optional(),
};

/** Body of an execution's answer. */
export const ExecuteToolResponse = z
  .discriminatedUnion('success', [
    z.object({ success: z.literal(true), output: z.unknown(), ...extras }),
    z.object({
      success: z.literal(false),
      error: ToolErrorBody,
      errorCode: z.enum(TOOL_ERROR_CODES),
      errorStage: z.enum(['request', 'load', 'execute', 'executor']),
      retryable: z.boolean(),
      ...extras,
    }),
  ])
  .meta({ id: 'ExecuteToolResponse' });

export const HealthResponse = z
  .object({
    status: z.literal('ok'),
    protocolVersion: z.string(),
    implementationVersion: z.string(),
    runtime: z.string(),
    timestamp: z.string(),
  })
  .meta({ id: 'HealthResponse' });

export const InfoResponse = z
  .object({
    name: z.string(),
    version: z.string(),
    protocolVersion: z.string(),
    capabilities: z.looseObject({
      isolation: z.enum(['none', 'process', 'container', 'vm']),
      executionModes: z.array(z.enum(['sync', 'stream', 'async'])),
      maxExecutionTimeMs: z.number(),
      maxRequestBodyBytes: z.number(),
      supportsStreaming: z.boolean(),
      supportsCallbacks: z.boolean(),
      supportsCaching: z.boolean(),
    }),
    runtime: z.object({ platform: z.string(), nodeVersion: z.string(), region: z.string().optional() }),
  })
  .meta({ id: 'InfoResponse' });

export const AsyncAccepted = z
  .object({
    success: z.literal(true),
    executionId: z.string(),
    status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
    statusUrl: z.string(),
    callbackSecret: z.string().optional(),
  })
  .meta({ id: 'AsyncAccepted' });

export const ExecutionStatus = z
  .object({
    success: z.literal(true),
    executionId: z.string(),
    status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']),
    createdAt: z.string(),
    startedAt: z.string().optional(),
    finishedAt: z.string().optional(),
    result: ExecuteToolResponse.optional(),
    callback: z
      .object({
        status: z.enum(['pending', 'delivered', 'failed']),
        attempts: z.number(),
        lastError: z.string().optional(),
      })
      .optional(),
  })
  .meta({ id: 'ExecutionStatus' });

export const ValidateToolResponse = z
  .object({
    success: z.literal(true),
    valid: z.boolean(),
    packageName: z.string(),
    name: z.string(),
    resolved: z.object({ version: z.string(), integrity: z.string().optional() }),
    installScripts: z.boolean(),
    license: z.string().optional(),
    foundBy: z
      .string()
      .optional()
      .meta({ description: 'export, default-property, default, or declared in tpmjs.tools.' }),
    description: z.string().optional(),
    inputSchema: z.unknown().optional(),
    missingEnv: z.array(z.string()),
    params: z.object({ fit: z.boolean(), problems: z.array(z.string()) }).optional(),
    problems: z.array(ToolErrorBody),
    executionTimeMs: z.number(),
  })
  .meta({ id: 'ValidateToolResponse' });

export const LoadAndDescribeResponse = z
  .object({
    success: z.literal(true),
    tool: z.object({ exportName: z.string(), description: z.string().optional(), inputSchema: z.unknown().optional() }),
    resolved: z.object({ version: z.string(), integrity: z.string().optional() }),
  })
  .meta({ id: 'LoadAndDescribeResponse' });

export const BatchResponse = z
  .object({
    success: z.boolean().meta({ description: 'Whether every item succeeded.' }),
    results: z.array(z.intersection(ExecuteToolResponse, z.object({ id: z.string().optional() }))),
    executionTimeMs: z.number(),
  })
  .meta({ id: 'BatchResponse' });

export type ExecuteToolRequest = z.output<typeof ExecuteToolRequest>;
export type ExecuteToolInput = z.input<typeof ExecuteToolRequest>;
export type ExecuteAsyncRequest = z.output<typeof ExecuteAsyncRequest>;
export type ExecuteAsyncInput = z.input<typeof ExecuteAsyncRequest>;
export type ValidateToolRequest = z.output<typeof ValidateToolRequest>;
export type LoadAndDescribeRequest = z.output<typeof LoadAndDescribeRequest>;
export type ValidateToolInput = z.input<typeof ValidateToolRequest>;
export type ExecuteBatchInput = z.input<typeof ExecuteBatchRequest>;
export type ExecuteToolResponse = z.output<typeof ExecuteToolResponse>;
export type ErrorResponse = z.output<typeof ErrorResponse>;
export type ToolErrorBody = z.output<typeof ToolErrorBody>;
export type Timings = z.output<typeof Timings>;
export type LogLine = z.output<typeof LogLine>;
export type HealthResponse = z.output<typeof HealthResponse>;
export type InfoResponse = z.output<typeof InfoResponse>;
export type AsyncAccepted = z.output<typeof AsyncAccepted>;
export type ExecutionStatus = z.output<typeof ExecutionStatus>;
export type ValidateToolResponse = z.output<typeof ValidateToolResponse>;
export type LoadAndDescribeResponse = z.output<typeof LoadAndDescribeResponse>;
export type BatchResponse = z.output<typeof BatchResponse>;

import { z } from 'zod';
import * as messages from '../messages.js';
import { implementationVersion } from '../version.js';

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Schemas refer to each other inside their own document; in this one they live under `components`. */
function relocate(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(relocate);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === '$ref' && typeof item === 'string' ? item.replace('#/$defs/', '#/components/schemas/') : relocate(item),
    ]),
  );
}

class Components {
  readonly schemas: Json = {};

  /** Adds a schema and what it refers to; returns the reference. */
  add(name: string, schema: z.ZodType, io: 'input' | 'output'): Json {
    const {
      $defs,
      $schema: _,
      id: __,
      ...body
    }: Json = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' });
    if (isObject($defs))
      for (const [key, value] of Object.entries($defs)) this.schemas[key] ??= relocate(withoutId(value));
    this.schemas[name] = relocate(body);
    return { $ref: `#/components/schemas/${name}` };
  }
}

function withoutId(value: unknown): unknown {
  if (!isObject(value)) return value;
  const { id: _, ...rest } = value;
  return rest;
}

/** Makes the OpenAPI 3.1 document from the schemas that validate. */
export function openApiDocument(): Json {
  const components = new Components();
  const json = (schema: Json): Json => ({ 'application/json': { schema } });
  const error = components.add('ErrorResponse', messages.ErrorResponse, 'output');
  const failed = (description: string): Json => ({ description, content: json(error) });
  const errors: Json = {
    400: failed('The request is not valid; details.field says where.'),
    401: failed('Invalid or missing API key.'),
    403: failed('Refused by the checks of Host and Origin.'),
    413: failed('The body is larger than advertised in /info.'),
    415: failed('The body is not application/json.'),
    500: failed('Unexpected executor error.'),
    503: failed('Too many requests wait; Retry-After says when to come back.'),
  };
  const ok = (schema: Json, description = 'OK'): Json => ({ description, content: json(schema) });
  const body = (schema: Json): Json => ({ required: true, content: json(schema) });
  const version: Json = { name: 'X-TPMJS-Protocol-Version', in: 'header', schema: { type: 'string' } };
  const caching: Json = {
    name: 'X-TPMJS-Cache-Control',
    in: 'header',
    description: 'no-cache | only-if-cached | max-age=N',
    schema: { type: 'string' },
  };
  const idempotency: Json = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } };
  const id: Json = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };
  const lastEvent: Json = { name: 'Last-Event-ID', in: 'header', schema: { type: 'string' } };
  const events = {
    'text/event-stream': {
      schema: { type: 'string', description: 'Events start, phase, log, preliminary and one result.' },
    },
  };

  const executeRequest = components.add('ExecuteToolRequest', messages.ExecuteToolRequest, 'input');
  const executeResponse = components.add('ExecuteToolResponse', messages.ExecuteToolResponse, 'output');
  const statusResponse = components.add('ExecutionStatus', messages.ExecutionStatus, 'output');
  components.add('BatchItem', messages.BatchItem, 'input');
  const conflict = { 409: failed('The Idempotency-Key was used with another body.') };
  const missing = { 404: failed('There is no such execution.') };
  return {
    openapi: '3.1.0',
    info: {
      title: 'TPMJS Executor',
      version: implementationVersion(),
      description: `TPMJS Executor Protocol ${messages.PROTOCOL_VERSION}. Every path is also served under /api.`,
    },
    servers: [{ url: '/' }, { url: '/api' }],
    security: [{ bearer: [] }, {}],
    paths: {
      '/health': {
        get: {
          operationId: 'health',
          security: [],
          responses: { 200: ok(components.add('HealthResponse', messages.HealthResponse, 'output')) },
        },
      },
      '/info': {
        get: {
          operationId: 'info',
          responses: { 200: ok(components.add('InfoResponse', messages.InfoResponse, 'output')) },
        },
      },
      '/execute-tool': {
        post: {
          operationId: 'executeTool',
          parameters: [version, caching, idempotency],
          requestBody: body(executeRequest),
          responses: {
            200: {
              description: 'The outcome, as one body or as events.',
              content: { ...json(executeResponse), ...events },
            },
            ...errors,
            ...conflict,
          },
        },
      },
      '/execute-async': {
        post: {
          operationId: 'executeAsync',
          parameters: [version, idempotency],
          requestBody: body(components.add('ExecuteAsyncRequest', messages.ExecuteAsyncRequest, 'input')),
          responses: {
            202: ok(components.add('AsyncAccepted', messages.AsyncAccepted, 'output'), 'Accepted'),
            ...errors,
            ...conflict,
          },
        },
      },
      '/executions/{id}': {
        get: {
          operationId: 'executionStatus',
          parameters: [id],
          responses: { 200: ok(statusResponse), ...errors, ...missing },
        },
        delete: {
          operationId: 'cancelExecution',
          parameters: [id],
          responses: { 200: ok(statusResponse), ...errors, ...missing },
        },
      },
      '/executions/{id}/events': {
        get: {
          operationId: 'executionEvents',
          parameters: [id, lastEvent],
          responses: { 200: { description: 'Events', content: events }, ...errors, ...missing },
        },
      },
      '/validate-tool': {
        post: {
          operationId: 'validateTool',
          parameters: [version, caching],
          requestBody: body(components.add('ValidateToolRequest', messages.ValidateToolRequest, 'input')),
          responses: {
            200: ok(components.add('ValidateToolResponse', messages.ValidateToolResponse, 'output')),
            ...errors,
          },
        },
      },
      '/load-and-describe': {
        post: {
          operationId: 'loadAndDescribe',
          parameters: [version],
          requestBody: body(components.add('LoadAndDescribeRequest', messages.LoadAndDescribeRequest, 'input')),
          responses: {
            200: ok(components.add('LoadAndDescribeResponse', messages.LoadAndDescribeResponse, 'output')),
            ...errors,
          },
        },
      },
      '/execute-batch': {
        post: {
          operationId: 'executeBatch',
          parameters: [version, caching],
          requestBody: body(components.add('ExecuteBatchRequest', messages.ExecuteBatchRequest, 'input')),
          responses: { 200: ok(components.add('BatchResponse', messages.BatchResponse, 'output')), ...errors },
        },
      },
    },
    components: { schemas: components.schemas, securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  };
}

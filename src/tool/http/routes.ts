import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { isSallyportError } from '../../errors/index.js';
import { acceptsEvents, clientPresence, decodeJson, printable } from '../../wire/index.js';
import type { ToolExecutor } from '../executor.js';
import type { RequestOptions } from '../executor-options.js';
import { failure, failureFields, failureOf, type ToolFailure, ToolFailureError } from '../failure.js';
import { type ErrorResponse, type ExecuteToolResponse, type ExecutionStatus, PROTOCOL_VERSION } from '../messages.js';
import { implementationVersion } from '../version.js';
import { freshnessOf } from './cache-control.js';
import { addCors, VERSION_HEADER } from './cors.js';
import { lastEventId, sendEvents, sendOnly } from './event-stream.js';
import { checkHost, checkOrigin, tokenCheck } from './guard.js';
import { health, info } from './info.js';
import { openApiDocument } from './openapi.js';
import { statusOf } from './statuses.js';

export interface ToolRoutesOptions {
  /** The bearer token. `EXECUTOR_API_KEY` of the environment, unless told otherwise; an empty one means none. */
  readonly apiKey?: string;
  /** What needs the token: all but `/health`, `/info` and preflights, or also `/info`. */
  readonly authScope?: 'default' | 'all';
  /** Names that the server goes by in `Host`; `loopback` stands for all names of this machine to itself. Not checked, unless told. */
  readonly hosts?: readonly string[];
  /** Origins of pages that may use it: with a key any, without one those of this machine, unless told otherwise. */
  readonly origins?: 'any' | 'loopback' | readonly string[];
  /** What `/info` calls the server, and where it runs. */
  readonly name?: string;
  readonly region?: string;
  /** What `/info` says beside what the protocol asks for. */
  readonly moreInfo?: Readonly<Record<string, unknown>>;
  /** `leave` is for servers that have other paths beside these. */
  readonly unknownPaths?: 'answer' | 'leave';
  /** `elsewhere` is for servers that check host, token and origin of all their paths in one place. */
  readonly guard?: 'own' | 'elsewhere';
  /** Whose turn a request counts as. Its address, unless told. */
  readonly clientOf?: (request: FastifyRequest) => string;
  /** Who sent a request, where several keys are told apart: idempotency keys and executions are theirs. */
  readonly principalOf?: (request: FastifyRequest) => string | undefined;
  /** What else is known of executions, also of those of other boundaries. */
  readonly executions?: ExecutionDirectory;
}

/** Executions that are known beside those of the executor. */
export interface ExecutionDirectory {
  /** What is known of an execution; undefined for one that this caller has no business with. The owner is one of `principalOf`. */
  describe(
    id: string,
    request: FastifyRequest,
    status: ExecutionStatus | undefined,
    owner: string | undefined,
  ): Readonly<Record<string, unknown>> | undefined;
  /** Ends it and waits for its end, if it is not one of the executor's. */
  cancel(id: string, request: FastifyRequest): Promise<void>;
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const;
type Method = (typeof METHODS)[number];
type Handler = (request: FastifyRequest, reply: FastifyReply) => unknown;

/** Whether a request says that a body follows its headers. */
function hasBody({ headers }: FastifyRequest): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function sendFailure(reply: FastifyReply, failed: ToolFailure): FastifyReply {
  const retryAfter = failed.details?.['retryAfterSeconds'];
  if (typeof retryAfter === 'number') reply.header('Retry-After', String(retryAfter));
  const status = statusOf(failed.code);
  // What is left of a refused body is not read.
  if (status === 401 || status === 413) reply.header('Connection', 'close');
  const body: ErrorResponse & Partial<ReturnType<typeof failureFields>> = { success: false, ...failureFields(failed) };
  return reply.code(status).send(body);
}

function sendOutcome(reply: FastifyReply, response: ExecuteToolResponse): FastifyReply {
  if (response.cache !== undefined) reply.header('X-TPMJS-Cache', response.cache);
  if (response.success) return reply.send(response);
  const retryAfter = response.error.details?.['retryAfterSeconds'];
  if (typeof retryAfter === 'number') reply.header('Retry-After', String(retryAfter));
  return reply.code(statusOf(response.error.code)).send(response);
}

/** Puts errors of the framework into the words of the protocol. */
function failureOfError(error: unknown): ToolFailure {
  if (error instanceof ToolFailureError) return error.failure;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return { code: 'PAYLOAD_TOO_LARGE', message: 'the body is larger than maxRequestBodyBytes in /info' };
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return {
      code: 'UNSUPPORTED_MEDIA_TYPE',
      message: 'the body must be application/json',
      details: { field: 'Content-Type' },
    };
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return {
      code: 'INVALID_REQUEST',
      message: printable(error instanceof Error ? error.message : 'the request is not valid', 300),
    };
  }
  return failureOf(error);
}

function readBody(bytes: Buffer, executor: ToolExecutor): unknown {
  const { maxRequestBodyBytes, maxRequestDepth, maxRequestValues } = executor.limits;
  if (bytes.length === 0)
    throw failure('INVALID_REQUEST', 'the body is empty; it must be a JSON object', { field: '' });
  try {
    return decodeJson(bytes, { bytes: maxRequestBodyBytes, depth: maxRequestDepth, values: maxRequestValues });
  } catch (error) {
    if (isSallyportError(error))
      throw failure('INVALID_REQUEST', `the body cannot be read: ${error.message}`, {
        field: '',
        reason: error.code,
      });
    throw error;
  }
}

function idOf(request: FastifyRequest): string {
  const { params } = request;
  const id = typeof params === 'object' && params !== null ? Reflect.get(params, 'id') : undefined;
  return typeof id === 'string' ? id : '';
}

function noExecution(id: string): ToolFailureError {
  return failure('NOT_FOUND', `there is no execution ${JSON.stringify(id.slice(0, 80))}`);
}

/** The HTTP surface of an executor, as a fastify plugin. */
export function toolRoutes(executor: ToolExecutor, options: ToolRoutesOptions = {}): FastifyPluginAsync {
  const apiKey = options.apiKey ?? process.env['EXECUTOR_API_KEY'] ?? '';
  const origins = options.origins ?? (apiKey === '' ? 'loopback' : 'any');
  const checkToken = apiKey === '' ? undefined : tokenCheck(apiKey);
  const version = implementationVersion();
  const name = options.name ?? 'Sallyport';
  let document: unknown;

  const optionsOf = (request: FastifyRequest, signal?: AbortSignal): RequestOptions => {
    const key = request.headers['idempotency-key'];
    if (
      key !== undefined &&
      (typeof key !== 'string' || key === '' || key.length > executor.limits.maxIdempotencyKey)
    ) {
      throw failure(
        'INVALID_REQUEST',
        `Idempotency-Key: must have 1 to ${executor.limits.maxIdempotencyKey} characters`,
        { field: 'Idempotency-Key' },
      );
    }
    const principal = options.principalOf?.(request);
    return {
      client: options.clientOf?.(request) ?? request.ip,
      freshness: freshnessOf(request.headers['x-tpmjs-cache-control']),
      ...(signal === undefined ? {} : { signal }),
      ...(key === undefined ? {} : { idempotencyKey: key }),
      ...(principal === undefined ? {} : { principal }),
    };
  };
  const presence = (reply: FastifyReply): AbortSignal => clientPresence(reply.request.raw, reply.raw);

  const execute: Handler = async (request, reply) => {
    if (!acceptsEvents(request.headers.accept))
      return sendOutcome(reply, await executor.execute(request.body, optionsOf(request, presence(reply))));
    const execution = executor.stream(request.body, { ...optionsOf(request), keptBy: 'readers' });
    // Refused before it began: an error like any other.
    if (execution.startedAt === undefined && execution.response !== undefined)
      return sendOutcome(reply, execution.response);
    execution.whenAlone = 'cancel';
    sendEvents(reply, execution, 0, executor.limits);
    return reply;
  };
  const found = (request: FastifyRequest): object => {
    const id = idOf(request);
    const status = executor.status(id);
    const known =
      options.executions === undefined
        ? status
        : options.executions.describe(id, request, status, executor.ownerOf(id));
    if (known === undefined) throw noExecution(id);
    return known;
  };
  const events: Handler = (request, reply) => {
    const id = idOf(request);
    const after = lastEventId(request);
    found(request);
    const live = executor.execution(id);
    const status = executor.status(id);
    if (live !== undefined) {
      // Its own stream decides what happens when nobody watches any more; this is one more reader of it.
      sendEvents(reply, live, after, executor.limits);
      return reply;
    }
    if (status?.result === undefined) throw noExecution(id);
    sendOnly(reply, { id: after + 1, event: 'result', data: status.result });
    return reply;
  };

  const table = (prefix: string): readonly (readonly [Method, string, Handler])[] => [
    ['GET', '/health', () => health(version)],
    ['GET', '/info', () => ({ ...info(executor, name, version, options.region), ...options.moreInfo })],
    ['GET', '/openapi.json', () => (document ??= openApiDocument())],
    ['POST', '/execute-tool', execute],
    [
      'POST',
      '/execute-async',
      async (request, reply) => {
        const accepted = await executor.executeAsync(request.body, optionsOf(request));
        const statusUrl = `${prefix}${accepted.statusUrl}`;
        return reply
          .code(202)
          .header('Location', statusUrl)
          .send({ ...accepted, statusUrl });
      },
    ],
    [
      'POST',
      '/validate-tool',
      (request, reply) => executor.validate(request.body, optionsOf(request, presence(reply))),
    ],
    [
      'POST',
      '/load-and-describe',
      (request, reply) => executor.describe(request.body, optionsOf(request, presence(reply))),
    ],
    ['POST', '/execute-batch', (request, reply) => executor.batch(request.body, optionsOf(request, presence(reply)))],
    ['GET', '/executions/:id', (request) => found(request)],
    [
      'DELETE',
      '/executions/:id',
      async (request) => {
        found(request);
        await executor.cancel(idOf(request));
        await options.executions?.cancel(idOf(request), request);
        return found(request);
      },
    ],
    ['GET', '/executions/:id/events', events],
  ];

  const register = (fastify: FastifyInstance, prefix: string): void => {
    const allowed = new Map<string, Method[]>();
    for (const [method, path, handler] of table(prefix)) {
      fastify.route({ method, url: `${prefix}${path}`, handler });
      const methods = allowed.get(path) ?? [];
      methods.push(...(method === 'GET' ? (['GET', 'HEAD'] as const) : [method]));
      allowed.set(path, methods);
    }
    for (const [path, methods] of allowed) {
      const allow = [...methods, 'OPTIONS'].join(', ');
      fastify.route({
        method: 'OPTIONS',
        url: `${prefix}${path}`,
        handler: (_request, reply) => reply.header('Allow', allow).code(200).send(),
      });
      const others = METHODS.filter((method) => method !== 'OPTIONS' && !methods.includes(method));
      fastify.route({
        method: others,
        url: `${prefix}${path}`,
        // Answered before the body is read: its kind and size do not matter here.
        onRequest: async (request, reply) => {
          reply.header('Allow', allow);
          if (hasBody(request)) reply.header('Connection', 'close');
          throw failure('NOT_FOUND', `${request.method} is not served at ${path}; ${allow} are`);
        },
        handler: () => {},
      });
    }
  };

  return async (fastify) => {
    fastify.removeAllContentTypeParsers();
    fastify.addContentTypeParser(
      'application/json',
      { parseAs: 'buffer', bodyLimit: executor.limits.maxRequestBodyBytes },
      (request, body, done) => {
        try {
          if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
            throw failure('UNSUPPORTED_MEDIA_TYPE', 'compressed bodies are not accepted', {
              field: 'Content-Encoding',
            });
          }
          done(null, readBody(Buffer.isBuffer(body) ? body : Buffer.from(body), executor));
        } catch (error) {
          done(error instanceof Error ? error : new Error(String(error)));
        }
      },
    );
    fastify.setErrorHandler((error, _request, reply) => sendFailure(reply, failureOfError(error)));
    fastify.addHook('onRequest', async (request, reply) => {
      if (options.guard === 'elsewhere') {
        reply.header(VERSION_HEADER, PROTOCOL_VERSION);
        return;
      }
      addCors(request, reply, apiKey === '' ? 'open' : 'guarded');
      if (request.method === 'OPTIONS') return;
      const path = (request.routeOptions.url ?? '').replace(/^\/api\//, '/');
      if (options.hosts !== undefined) checkHost(request, options.hosts);
      if (path === '/health' || (path === '/info' && options.authScope !== 'all')) return;
      checkToken?.(request);
      checkOrigin(request, origins);
    });
    for (const prefix of ['', '/api']) register(fastify, prefix);
    if (options.unknownPaths === 'leave') return;
    fastify.setNotFoundHandler((request, reply) =>
      sendFailure(reply, {
        code: 'NOT_FOUND',
        message: printable(`there is nothing at ${request.method} ${request.url}`, 200),
      }),
    );
  };
}

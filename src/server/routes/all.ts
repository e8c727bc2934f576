import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { toolRoutes } from '../../tool/index.js';
import { printable } from '../../wire/index.js';
import type { AccessRules } from '../access/judge.js';
import type { KeyRing } from '../access/keys.js';
import { watchInspections } from '../audit/inspections.js';
import { callerOf, guardAll, loggedPath } from '../http/access-hook.js';
import { acceptJson } from '../http/body.js';
import { problemOf } from '../http/errors.js';
import { sendProblem } from '../http/problem.js';
import type { Metrics } from '../metrics.js';
import type { Parts } from '../parts.js';
import type { ReadinessProbe } from '../readiness.js';
import { boundariesOf, confinementOf } from './about.js';
import { executionDirectory, executionRoutes } from './executions.js';
import { operationRoutes } from './operations.js';
import { runRoutes } from './run.js';
import { wasmRoutes } from './wasm.js';

/** Asked for all the time by whoever watches the server. */
const HEALTH_PATHS = new Set(['/health', '/api/health', '/readyz', '/metrics']);

export interface RouteParts {
  readonly parts: Parts;
  readonly rules: AccessRules;
  readonly keys: KeyRing;
  readonly logger: Logger;
  readonly readiness: ReadinessProbe;
  readonly metrics: Metrics;
}

/** Puts everything that is served over HTTP behind the same guard, log and answers to what is wrong. */
export function addRoutes(
  fastify: FastifyInstance,
  { parts, rules, keys, logger, readiness, metrics }: RouteParts,
): void {
  const { quotas, admissions, tools } = parts;
  guardAll(fastify, { rules, keys, quotas, admissions, batchWidth: tools.limits.maxBatchConcurrency });
  watchInspections(fastify, parts);
  fastify.addHook('onResponse', async (request, reply) => {
    metrics.answered(reply.statusCode);
    const path = loggedPath(request);
    const { key, address } = callerOf(request);
    const facts = { method: request.method, path: printable(path, 200), status: reply.statusCode };
    const line = { ...facts, ms: Math.round(reply.elapsedTime), key: key?.name ?? null, address };
    if (HEALTH_PATHS.has(path)) logger.debug(line, 'request');
    else logger.info(line, 'request');
  });
  fastify.setErrorHandler((error, request, reply) => {
    const problem = problemOf(error);
    if (problem.status === 500) logger.error({ err: error, path: loggedPath(request) }, 'unexpected error');
    return sendProblem(reply, problem);
  });
  fastify.setNotFoundHandler((request, reply) => {
    if (request.method === 'OPTIONS') return reply.code(204).send();
    return sendProblem(reply, {
      status: 404,
      code: 'NOT_FOUND',
      message: printable(`there is nothing at ${request.method} ${loggedPath(request)}`, 200),
    });
  });
  fastify.register(async (scope) => {
    acceptJson(scope, parts.limits);
    runRoutes(scope, parts);
    wasmRoutes(scope, parts);
    executionRoutes(scope, parts);
    operationRoutes(scope, readiness, metrics);
    for (const path of ['/exec', '/guest', '/wasm/:module']) {
      scope.get(path, { exposeHeadRoute: false }, (_request, reply) =>
        sendProblem(reply.header('Upgrade', 'websocket'), {
          status: 426,
          code: 'INVALID_REQUEST',
          message: 'this path speaks WebSocket',
        }),
      );
    }
  });
  fastify.register(
    toolRoutes(parts.tools, {
      apiKey: '',
      guard: 'elsewhere',
      unknownPaths: 'leave',
      clientOf: (request) => callerOf(request).key?.name ?? request.ip,
      principalOf: (request) => callerOf(request).key?.name,
      executions: executionDirectory(parts),
      moreInfo: { boundaries: boundariesOf(parts), confinement: confinementOf(parts) },
    }),
  );
}

import type { FastifyInstance } from 'fastify';
import { callerOf } from '../http/access-hook.js';
import type { Parts } from '../parts.js';
import type { AuditedExecution } from './execution.js';

const INSPECTIONS = new Set(['/validate-tool', '/load-and-describe']);

/** Notes requests that load a package to look at it: its code runs then as well. */
export function watchInspections(fastify: FastifyInstance, { trail, isolation, tools }: Parts): void {
  const open = new WeakMap<object, AuditedExecution>();
  fastify.addHook('preHandler', async (request) => {
    const path = (request.routeOptions.url ?? '').replace(/^\/api\//, '/');
    if (request.method !== 'POST' || !INSPECTIONS.has(path)) return;
    const { body } = request;
    const name = typeof body === 'object' && body !== null ? Reflect.get(body, 'packageName') : undefined;
    const execution = trail.open(
      {
        kind: 'tool',
        via: `POST ${path}`,
        label: typeof name === 'string' ? name : 'tool',
        isolation: isolation.levels.tool,
        limits: { maxExecutionTimeMs: tools.limits.maxExecutionTimeMs },
      },
      callerOf(request),
    );
    execution.started();
    open.set(request, execution);
  });
  const finish = (request: object, code: number): void => {
    const status = code < 400 ? 'succeeded' : 'failed';
    open.get(request)?.ended({ status, code: status === 'succeeded' ? 'ok' : `status ${code}` });
  };
  fastify.addHook('onResponse', async (request, reply) => finish(request, reply.statusCode));
  fastify.addHook('onRequestAbort', async (request) => {
    open.get(request)?.ended({ status: 'cancelled', code: 'EXECUTION_CANCELLED' });
  });
}

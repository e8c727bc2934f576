import type { FastifyInstance } from 'fastify';
import { whenAnswered } from '../../wire/index.js';
import { callerOf } from '../http/access-hook.js';
import type { Parts } from '../parts.js';

const INSPECTIONS = new Set(['/validate-tool', '/load-and-describe']);

/** Notes requests that load a package to look at it: its code runs then as well. */
export function watchInspections(fastify: FastifyInstance, { trail, isolation, tools }: Parts): void {
  fastify.addHook('preHandler', async (request, reply) => {
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
    whenAnswered(request.raw, reply.raw, (end) => {
      const { statusCode } = reply.raw;
      if (end === 'left') execution.ended({ status: 'cancelled', code: 'EXECUTION_CANCELLED' });
      else if (statusCode < 400) execution.ended({ status: 'succeeded', code: 'ok' });
      else execution.ended({ status: 'failed', code: `status ${statusCode}` });
    });
  });
}

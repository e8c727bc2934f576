import type { FastifyInstance } from 'fastify';
import type { Metrics } from '../metrics.js';
import type { ReadinessProbe } from '../readiness.js';

/** `GET /readyz` and `GET /metrics`. */
export function operationRoutes(fastify: FastifyInstance, readiness: ReadinessProbe, metrics: Metrics): void {
  fastify.get('/readyz', async (_request, reply) => {
    const state = await readiness.check();
    return reply
      .code(state.ready ? 200 : 503)
      .header('Cache-Control', 'no-store')
      .send(state);
  });
  fastify.get('/metrics', { config: { boundary: 'operations' } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text()),
  );
}

import type { FastifyInstance } from 'fastify';
import { isSallyportError } from '../../errors/index.js';
import { decodeJson } from '../../wire/index.js';
import type { ServerLimits } from '../limits.js';
import { invalidRequest, ProblemError } from './problem.js';

/** Reads JSON bodies within a budget, and nothing else. An empty body is `undefined`. */
export function acceptJson(fastify: FastifyInstance, limits: ServerLimits): void {
  const budget = { bytes: limits.bodyBytes, depth: limits.bodyDepth, values: limits.bodyValues };
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer', bodyLimit: limits.bodyBytes },
    (request, body, done) => {
      try {
        if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
          throw new ProblemError({
            status: 415,
            code: 'UNSUPPORTED_MEDIA_TYPE',
            message: 'compressed bodies are not accepted',
            details: { field: 'Content-Encoding' },
          });
        }
        const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body);
        done(null, bytes.length === 0 ? undefined : decodeJson(bytes, budget));
      } catch (error) {
        if (isSallyportError(error)) done(invalidRequest(`the body cannot be read: ${error.message}`, ''));
        else done(error instanceof Error ? error : new Error(String(error)));
      }
    },
  );
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ExecutionDirectory } from '../../tool/index.js';
import type { Filter } from '../audit/trail.js';
import { callerOf } from '../http/access-hook.js';
import { openEventStream } from '../http/event-stream.js';
import { parseOr400 } from '../http/parse.js';
import { ProblemError } from '../http/problem.js';
import { MAX_PAGE_SIZE, PAGE_SIZE } from '../limits.js';
import type { Parts } from '../parts.js';

const whole = (max: number) => z.coerce.number().int().min(1).max(max);

const Query = z.strictObject({
  kind: z.enum(['guest', 'wasm', 'tool', 'process']).optional(),
  status: z.enum(['queued', 'running', 'succeeded', 'failed', 'cancelled']).optional(),
  key: z.string().max(100).optional(),
  since: z.iso.datetime({ offset: true }).optional(),
  limit: whole(MAX_PAGE_SIZE).default(PAGE_SIZE),
  cursor: whole(Number.MAX_SAFE_INTEGER).optional(),
});

/** Whose executions a caller may see: everybody's, or those of one key. */
function horizon({ quotas }: Parts, request: FastifyRequest): 'all' | { readonly key: string | null } {
  const caller = callerOf(request);
  if (quotas.forbids(caller, 'operations') === undefined) return 'all';
  return { key: caller.key?.name ?? null };
}

function sees(parts: Parts, request: FastifyRequest, owner: string | null): boolean {
  const seen = horizon(parts, request);
  return seen === 'all' || seen.key === owner;
}

/** `GET /executions` and `GET /events`: what runs and what ran, at all boundaries. */
export function executionRoutes(fastify: FastifyInstance, parts: Parts): void {
  const { trail, limits } = parts;
  let readers = 0;
  fastify.get('/executions', (request) => {
    const { kind, status, key, since, limit, cursor } = parseOr400(Query, request.query, 'query');
    const seen = horizon(parts, request);
    const filter: Filter = {
      kind,
      status,
      key: seen === 'all' ? key : seen.key,
      since: since === undefined ? undefined : Date.parse(since),
      before: cursor,
    };
    const { executions, next } = trail.page(filter, limit);
    return { success: true, executions, ...(next === undefined ? {} : { nextCursor: String(next) }) };
  });
  fastify.get('/events', { exposeHeadRoute: false }, (request, reply) => {
    if (readers >= limits.eventReaders) {
      const message = `${readers} others read the events already`;
      throw new ProblemError({ status: 503, code: 'OVERLOADED', message, details: { retryAfterSeconds: 5 } });
    }
    readers += 1;
    const stream = openEventStream(reply, limits);
    const stop = trail.onEvent(({ key, ...event }) => {
      // What a key may see can change while it looks.
      const seen = horizon(parts, request);
      if (seen === 'all' || seen.key === key) stream.send(event.type, event);
    });
    void stream.closed.then(() => {
      readers -= 1;
      stop();
    });
    return reply;
  });
}

/** Lets the tool boundary's resource of one execution show those of all boundaries. */
export function executionDirectory(parts: Parts): ExecutionDirectory {
  const { trail } = parts;
  return {
    describe(id, request, status, owner) {
      const execution = trail.find(id);
      // One that a server before this one accepted has no record, or one without a caller.
      if (!sees(parts, request, execution?.keyName ?? owner ?? null)) return undefined;
      if (execution === undefined) return status;
      return { success: true, ...execution.record(), ...status };
    },
    async cancel(id, request) {
      const execution = trail.find(id);
      if (execution === undefined || execution.kind === 'tool' || !sees(parts, request, execution.keyName)) return;
      execution.cancel();
      await execution.done;
    },
  };
}

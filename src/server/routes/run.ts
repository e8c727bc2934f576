import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { describeTools } from '../../capabilities/index.js';
import { DEFAULT_MEMORY_LIMIT_BYTES, DEFAULT_TIMEOUT_MS, type ExecutionEvent } from '../../guest/index.js';
import { acceptsEvents, clientPresence } from '../../wire/index.js';
import { guestOutcome, watchGuest } from '../audit/guest-watcher.js';
import { callerOf } from '../http/access-hook.js';
import { openEventStream } from '../http/event-stream.js';
import { parseOr400 } from '../http/parse.js';
import { ProblemError } from '../http/problem.js';
import type { Parts } from '../parts.js';

const RunRequest = z.strictObject({
  code: z.string(),
  timeoutMs: z.number().exactOptional(),
  memoryLimitBytes: z.number().exactOptional(),
  maxLogLines: z.number().exactOptional(),
  maxLogChars: z.number().exactOptional(),
});

/** `POST /run` and `GET /run/types`: code in, result out, with the tools that the server was started with. */
export function runRoutes(fastify: FastifyInstance, parts: Parts): void {
  const { executor, providers, trail, limits, isolation } = parts;
  fastify.get('/run/types', (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(describeTools(providers)),
  );
  fastify.post('/run', { config: { boundary: 'guest', starts: true } }, async (request, reply) => {
    const { code, ...asked } = parseOr400(RunRequest, request.body, 'body');
    const { queued } = executor.stats();
    if (queued >= limits.queuedRuns) {
      const message = `${queued} programs wait already`;
      throw new ProblemError({ status: 503, code: 'OVERLOADED', message, details: { retryAfterSeconds: 1 } });
    }
    const gone = clientPresence(request.raw, reply.raw);
    const cancelled = new AbortController();
    const signal = AbortSignal.any([gone, cancelled.signal]);
    const execution = trail.open(
      {
        kind: 'guest',
        via: 'POST /run',
        label: 'program',
        isolation: isolation.levels.guest,
        limits: {
          timeoutMs: asked.timeoutMs ?? DEFAULT_TIMEOUT_MS,
          memoryLimitBytes: asked.memoryLimitBytes ?? DEFAULT_MEMORY_LIMIT_BYTES,
        },
        cancel: () => cancelled.abort(),
      },
      callerOf(request),
    );
    const ending = (): 'natural' | 'cancelled' => (signal.aborted ? 'cancelled' : 'natural');
    const watch = watchGuest(execution, ending);
    const stream = acceptsEvents(request.headers.accept) ? openEventStream(reply, limits) : undefined;
    const onEvent = (event: ExecutionEvent): void => {
      watch(event);
      if (event.type !== 'done') stream?.send(event.type, { ...event, executionId: execution.id });
    };
    const result = await executor.execute(code, providers, { ...asked, signal, onEvent });
    // A program that was refused before it began has no events.
    execution.ended(guestOutcome(result, ending()));
    const answer = { executionId: execution.id, ...result };
    if (stream === undefined) return reply.send(answer);
    stream.send('result', answer);
    stream.end();
    return reply;
  });
}

import type { FastifyReply, FastifyRequest } from 'fastify';
import { beginEventStream, eventText, HEARTBEAT, whenAnswered } from '../../wire/index.js';
import type { ToolEvent } from '../event-log.js';
import type { Execution } from '../execution.js';
import { failure } from '../failure.js';
import type { ToolLimits } from '../limits.js';

/** Bytes that may wait for a reader that does not read; it can come back and resume. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;

/** The event that a reader saw last. Throws INVALID_REQUEST. */
export function lastEventId(request: FastifyRequest): number {
  const header = request.headers['last-event-id'];
  if (header === undefined || header === '') return 0;
  if (typeof header === 'string' && /^\d{1,15}$/.test(header)) return Number(header);
  throw failure('INVALID_REQUEST', 'Last-Event-ID: must be the number of an event', { field: 'Last-Event-ID' });
}

const textOf = ({ id, event, data }: ToolEvent): string => eventText(event, data, id);

function open(reply: FastifyReply): FastifyReply['raw'] {
  const headers = reply.getHeaders();
  reply.hijack();
  beginEventStream(reply.raw, headers);
  return reply.raw;
}

/** Sends one event that is known already, and ends. */
export function sendOnly(reply: FastifyReply, event: ToolEvent): void {
  open(reply).end(textOf(event));
}

/**
 * Sends the events of an execution until its result. When its last reader is away for too long and nobody else waits for it,
 * it is cancelled, unless it is one that nobody needs to watch.
 */
export function sendEvents(reply: FastifyReply, execution: Execution, after: number, limits: ToolLimits): void {
  const raw = open(reply);
  const heartbeat = setInterval(() => raw.write(HEARTBEAT), limits.heartbeatMs);
  const leave = execution.read();
  const stop = execution.events.follow(after, (event) => {
    if (raw.destroyed) return;
    raw.write(textOf(event));
    if (raw.writableLength > MAX_WAITING_BYTES) raw.destroy();
    else if (event.event === 'result') raw.end();
  });
  if (execution.events.closed) raw.end();
  whenAnswered(reply.request.raw, raw, () => {
    clearInterval(heartbeat);
    stop();
    leave();
    if (execution.whenAlone === 'keep' || execution.events.closed) return;
    setTimeout(() => execution.cancelIfAlone('the reader of the stream went away'), limits.streamGraceMs).unref();
  });
}

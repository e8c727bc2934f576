import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerLimits } from '../limits.js';

/** An answer that is sent event by event. */
export interface EventStream {
  /** Sends one event. A reader that is too slow is cut off. */
  send(event: string, data: unknown, id?: number): void;
  end(): void;
  /** Resolves when the reader has it all, or went away. */
  readonly closed: Promise<void>;
  /** How many bytes wait for the reader. */
  readonly waiting: number;
  /** Resolves when less waits for the reader than would hold up the sender. */
  drained(): Promise<void>;
}

const HIGH_WATER_BYTES = 256 * 1024;

/** Whether a client asks for events rather than one body. */
export function wantsEvents(request: FastifyRequest): boolean {
  const accepted = (request.headers.accept ?? '').split(',');
  return accepted.some((part) => part.trim().toLowerCase().startsWith('text/event-stream'));
}

/** Turns an answer into a stream of events. */
export function openEventStream(reply: FastifyReply, limits: ServerLimits): EventStream {
  const headers = reply.getHeaders();
  reply.hijack();
  const { raw } = reply;
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) raw.setHeader(name, value);
  raw.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Proxies that buffer would hold events back.
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  raw.on('error', () => {});
  const heartbeat = setInterval(() => raw.write(': still here\n\n'), limits.heartbeatMs);
  const closed = new Promise<void>((resolve) => {
    raw.once('close', () => {
      clearInterval(heartbeat);
      resolve();
    });
  });
  return {
    closed,
    get waiting() {
      return raw.writableLength;
    },
    send(event, data, id) {
      if (raw.destroyed || raw.writableEnded) return;
      const number = id === undefined ? '' : `id: ${id}\n`;
      raw.write(`${number}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
      if (raw.writableLength > limits.streamBacklogBytes) raw.destroy();
    },
    end() {
      clearInterval(heartbeat);
      if (!raw.writableEnded) raw.end();
    },
    async drained() {
      if (raw.destroyed || raw.writableLength < HIGH_WATER_BYTES) return;
      await Promise.race([new Promise<void>((resolve) => raw.once('drain', resolve)), closed]);
    },
  };
}

/** A signal that fires when the client goes away before it has its answer. */
export function presence(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once('close', () => {
    if (!reply.raw.writableFinished) controller.abort();
  });
  return controller.signal;
}

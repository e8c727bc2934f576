import type { FastifyReply } from 'fastify';
import { beginEventStream, eventText, HEARTBEAT, whenAnswered } from '../../wire/index.js';
import type { ServerLimits } from '../limits.js';

/** An answer that is sent event by event. */
export interface EventStream {
  /** Sends one event. A reader that is too slow is cut off. */
  send(event: string, data: unknown, id?: number): void;
  end(): void;
  /** Resolves when the reader has it all, or went away. */
  readonly closed: Promise<void>;
  /** Resolves when less waits for the reader than would hold up the sender. */
  drained(): Promise<void>;
}

const HIGH_WATER_BYTES = 256 * 1024;

/** Turns an answer into a stream of events. */
export function openEventStream(reply: FastifyReply, limits: ServerLimits): EventStream {
  const headers = reply.getHeaders();
  reply.hijack();
  const { raw } = reply;
  beginEventStream(raw, headers);
  const heartbeat = setInterval(() => raw.write(HEARTBEAT), limits.heartbeatMs);
  const closed = new Promise<void>((resolve) => {
    whenAnswered(reply.request.raw, raw, () => {
      clearInterval(heartbeat);
      resolve();
    });
  });
  return {
    closed,
    send(event, data, id) {
      if (raw.destroyed || raw.writableEnded) return;
      raw.write(eventText(event, data, id));
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

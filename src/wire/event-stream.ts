import type { ServerResponse } from 'node:http';

/** Whether an `Accept` header asks for events rather than one body. */
export function acceptsEvents(accept = ''): boolean {
  return accept.split(',').some((part) => part.trim().toLowerCase().startsWith('text/event-stream'));
}

type Headers = Readonly<Record<string, number | string | readonly string[] | undefined>>;

/** Begins an answer that is sent event by event, with the headers that were set for it so far. */
export function beginEventStream(response: ServerResponse, headers: Headers): void {
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) response.setHeader(name, value);
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    // Proxies that buffer would hold events back.
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  response.on('error', () => {});
}

/** One event as it is sent. */
export function eventText(event: string, data: unknown, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** What is sent now and then, so that nobody in between takes a quiet stream for a dead one. */
export const HEARTBEAT = ': still here\n\n';

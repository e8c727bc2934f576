import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** How an answer ended: the client has it, or went away before. */
export type AnswerEnd = 'sent' | 'left';

/** Those who wait for the end of a connection. Thousands of requests may stand in line on one. */
const waiting = new WeakMap<Socket, Set<() => void>>();

function whenClosed(socket: Socket): Set<() => void> {
  let listeners = waiting.get(socket);
  if (listeners === undefined) {
    const all = new Set<() => void>();
    listeners = all;
    waiting.set(socket, all);
    socket.once('close', () => {
      for (const listener of all) listener();
    });
  }
  return listeners;
}

/**
 * Calls back once, when an answer is over. Node's `close` event alone does not tell: it never comes for an answer that stood in
 * line behind another one when the connection ended, and it may have come before anybody listened.
 */
export function whenAnswered(request: IncomingMessage, response: ServerResponse, done: (end: AnswerEnd) => void): void {
  const { socket } = request;
  const listeners = whenClosed(socket);
  const over = (): void => {
    listeners.delete(over);
    response.off('close', over);
    done(response.writableFinished ? 'sent' : 'left');
  };
  if (socket.destroyed || response.closed) {
    over();
    return;
  }
  listeners.add(over);
  response.once('close', over);
}

/** A signal that fires when the client goes away before it has its answer. */
export function clientPresence(request: IncomingMessage, response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  whenAnswered(request, response, (end) => {
    if (end === 'left') controller.abort();
  });
  return controller.signal;
}

import { SallyportError } from '../errors/index.js';

/** Says that nothing can be sent any more. */
export function transportClosed(reason: string): SallyportError {
  return new SallyportError('WIRE_CLOSED', `the transport is closed: ${reason}`);
}

/** Says that too much waits for the peer already. */
export function peerBacklog(waiting: number, limit: number): SallyportError {
  return new SallyportError('WIRE_BACKLOG', `the peer does not read: ${waiting} bytes wait to be sent`, {
    waiting,
    limit,
  });
}

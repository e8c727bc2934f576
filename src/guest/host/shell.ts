import type { Transport } from '../../wire/index.js';
import type { HostMessage } from '../messages.js';

/** Where a guest runs. `container` is a process that is confined as well. */
export type GuestIsolation = 'inline' | 'thread' | 'process' | 'container';

/**
 * Something that runs one guest at a time, again and again. It is reused between executions, its heap never is.
 *
 *     starting ──ready──▶ idle ⇄ busy ──kill()──▶ gone
 */
export interface Shell {
  readonly transport: Transport<unknown, HostMessage>;
  /** Resolves when the first execution can be sent; rejects when it never will. */
  readonly ready: Promise<void>;
  /** Resolves when nothing of it is left. */
  readonly gone: Promise<void>;
  /** Called before each execution: takes back an earlier interrupt, and keeps this process alive meanwhile. */
  occupy(): void;
  /** Called after each execution: an idle shell alone does not keep this process alive. */
  vacate(): void;
  /** Reaches a guest that is too busy to read its messages, where the isolation has a way. */
  interrupt(): void;
  kill(): void;
}

/** The one message of a shell that is not of the protocol: its engine is ready. */
export const READY = { type: 'ready' } as const;

/** Waits for {@link READY}, and for nothing else. */
export function whenReady(transport: Transport<unknown, HostMessage>): Promise<void> {
  return new Promise((resolve, reject) => {
    const stopMessages = transport.onMessage((message) => {
      stop();
      const type = typeof message === 'object' && message !== null && 'type' in message ? message.type : undefined;
      if (type === READY.type) resolve();
      else reject(new Error('a shell said something else before it was ready'));
    });
    const stopClose = transport.onClose((reason) => {
      stop();
      reject(new Error(`a shell ended before it was ready: ${reason.message}`));
    });
    const stop = (): void => {
      stopMessages();
      stopClose();
    };
  });
}

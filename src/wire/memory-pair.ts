import { Gate } from './gate.js';
import { Inbox } from './inbox.js';
import { PAIR_WINDOW_MESSAGES } from './limits.js';
import { transportClosed } from './refused-send.js';
import type { CloseReason, Transport, Unsubscribe } from './transport.js';

/**
 * Makes two transports that are each other's peer, in one process. Messages travel by reference: whoever sends one gives
 * it away.
 */
export function memoryPair<A, B = A>(): [Transport<A, B>, Transport<B, A>] {
  const left = new MemoryEnd<A, B>();
  const right = new MemoryEnd<B, A>();
  left.peer = right;
  right.peer = left;
  return [left, right];
}

class MemoryEnd<In, Out> implements Transport<In, Out> {
  peer!: MemoryEnd<Out, In>;
  readonly #inbox = new Inbox<In>({
    pause: () => {},
    resume: () => this.#space.open(),
    fail: (error) => {
      this.#finish({ kind: 'error', message: error.message, error });
      this.peer.#finish({ kind: 'peer-closed', message: 'the peer failed' });
    },
  });
  readonly #space = new Gate();

  send(message: Out): void | Promise<void> {
    const closed = this.#inbox.closeReason;
    if (closed) throw transportClosed(closed.message);
    return this.peer.#accept(message);
  }

  onMessage(handler: (message: In) => void | Promise<void>): Unsubscribe {
    return this.#inbox.onMessage(handler);
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    return this.#inbox.onClose(handler);
  }

  close(reason = 'closed by this side'): void {
    if (this.#inbox.closeReason) return;
    this.#finish({ kind: 'closed', message: reason });
    // In the order of what was sent before: the peer hears of the end after the last message.
    queueMicrotask(() => this.peer.#finish({ kind: 'peer-closed', message: reason }));
  }

  terminate(): void {
    this.#inbox.abort({ kind: 'terminated', message: 'terminated by this side' });
    this.#space.open();
    queueMicrotask(() => this.peer.#finish({ kind: 'peer-closed', message: 'the peer terminated the transport' }));
  }

  #accept(message: In): void | Promise<void> {
    // A turn later, as with every other transport, so that a sender is never re-entered.
    queueMicrotask(() => this.#inbox.push(message));
    if (this.#inbox.waiting < PAIR_WINDOW_MESSAGES) return;
    return this.#space.wait();
  }

  #finish(reason: CloseReason): void {
    this.#inbox.finish(reason);
    this.#space.open();
  }
}

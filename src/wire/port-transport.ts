import { Gate } from './gate.js';
import { Inbox } from './inbox.js';
import { PORT_ACK_EVERY, PORT_WINDOW_MESSAGES } from './limits.js';
import { transportClosed } from './refused-send.js';
import type { CloseReason, Transport, Unsubscribe } from './transport.js';

/** What a `MessagePort`, a `Worker` and a worker's `parentPort` have in common. */
export interface PortLike {
  postMessage(value: unknown): void;
  on(event: string, listener: (value: unknown) => void): unknown;
  off(event: string, listener: (value: unknown) => void): unknown;
  /** Ends the port; a `Worker` has `terminate` instead. */
  close?(): void;
}

export interface PortTransportOptions {
  /** Ends what is behind the port when the transport is terminated: a worker, say. */
  readonly onTerminate?: () => void;
}

/**
 * Carries structured-clone messages over a port. A port has no backpressure of its own, so the receiver acknowledges every
 * {@link PORT_ACK_EVERY} messages with their number; messages are objects, so a bare number can mean nothing else.
 */
export function portTransport<In extends object, Out extends object>(
  port: PortLike,
  options: PortTransportOptions = {},
): Transport<In, Out> {
  return new PortTransport<In, Out>(port, options);
}

class PortTransport<In extends object, Out extends object> implements Transport<In, Out> {
  readonly #port: PortLike;
  readonly #options: PortTransportOptions;
  readonly #inbox: Inbox<In>;
  #unacknowledged = 0;
  #received = 0;
  readonly #space = new Gate();

  constructor(port: PortLike, options: PortTransportOptions) {
    this.#port = port;
    this.#options = options;
    this.#inbox = new Inbox<In>({
      pause: () => {},
      resume: () => this.#acknowledge(),
      fail: (error) => {
        this.#end({ kind: 'error', message: error.message, error });
        port.close?.();
      },
    });
    // From the start, because acknowledgements come this way too. The window bounds what waits for a first handler.
    port.on('message', this.#onMessage);
    port.on('close', this.#onPortClose);
    port.on('exit', this.#onExit);
    port.on('error', this.#onError);
    port.on('messageerror', this.#onError);
  }

  send(message: Out): void | Promise<void> {
    const closed = this.#inbox.closeReason;
    if (closed) throw transportClosed(closed.message);
    this.#port.postMessage(message);
    this.#unacknowledged += 1;
    if (this.#unacknowledged < PORT_WINDOW_MESSAGES) return;
    return this.#space.wait();
  }

  onMessage(handler: (message: In) => void | Promise<void>): Unsubscribe {
    return this.#inbox.onMessage(handler);
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    return this.#inbox.onClose(handler);
  }

  close(reason = 'closed by this side'): void {
    if (this.#inbox.closeReason) return;
    this.#detach();
    this.#port.close?.();
    this.#inbox.finish({ kind: 'closed', message: reason });
  }

  terminate(): void {
    this.#detach();
    this.#inbox.abort({ kind: 'terminated', message: 'terminated by this side' });
    this.#port.close?.();
    this.#options.onTerminate?.();
  }

  readonly #onMessage = (message: unknown): void => {
    if (typeof message === 'number') {
      this.#unacknowledged -= message;
      if (this.#unacknowledged < PORT_WINDOW_MESSAGES) this.#space.open();
      return;
    }
    this.#received += 1;
    this.#inbox.push(message as In);
    if (this.#inbox.waiting === 0) this.#acknowledge();
  };

  readonly #onPortClose = (): void => this.#end({ kind: 'peer-closed', message: 'the peer closed the port' });
  readonly #onExit = (code: unknown): void =>
    this.#end({ kind: 'peer-closed', message: `the worker exited with code ${String(code)}` });
  readonly #onError = (cause: unknown): void => {
    const error = cause instanceof Error ? cause : new Error(String(cause));
    this.#end({ kind: 'error', message: error.message, error });
  };

  #acknowledge(): void {
    if (this.#received < PORT_ACK_EVERY || this.#inbox.closeReason) return;
    this.#port.postMessage(this.#received);
    this.#received = 0;
  }

  #end(reason: CloseReason): void {
    this.#detach();
    this.#inbox.finish(reason);
  }

  #detach(): void {
    this.#space.open();
    this.#port.off('message', this.#onMessage);
    this.#port.off('close', this.#onPortClose);
    this.#port.off('exit', this.#onExit);
    this.#port.off('messageerror', this.#onError);
    // The error listener stays: an error that comes after the end must not become an uncaught one.
  }
}

import type { CloseReason, Unsubscribe } from './transport.js';

type MessageHandler<In> = (message: In) => void | Promise<void>;

/** What an inbox asks of its source. */
export interface InboxFlow {
  /** Stop reading: messages wait. */
  pause(): void;
  /** Read on. */
  resume(): void;
  /** A handler threw or rejected: what it failed to handle cannot be handled by anybody else, so the transport ends. */
  fail(error: Error): void;
}

/**
 * The receiving half that every transport shares: delivery in order, holding back while a handler is busy, and a close
 * that comes once, after the messages that came before it, and replays to late subscribers.
 *
 *     waiting (no handler) ──onMessage──▶ flowing ⇄ held (a handler's promise is pending)
 *     any ──finish(reason)──▶ closing (queue not empty) ──▶ closed
 */
export class Inbox<In> {
  readonly #flow: InboxFlow;
  readonly #messageHandlers = new Set<MessageHandler<In>>();
  readonly #closeHandlers = new Set<(reason: CloseReason) => void>();
  #queue: In[] = [];
  #head = 0;
  #draining = false;
  #held = false;
  #paused = true;
  #finishing: CloseReason | undefined;
  #closed: CloseReason | undefined;

  constructor(flow: InboxFlow) {
    this.#flow = flow;
  }

  /** The reason of the close, once it is known. Sending ends here, even while earlier messages are still delivered. */
  get closeReason(): CloseReason | undefined {
    return this.#closed ?? this.#finishing;
  }

  /** How many messages wait for a handler. */
  get waiting(): number {
    return this.#queue.length - this.#head;
  }

  push(message: In): void {
    if (this.#finishing || this.#closed) return;
    if (this.#draining || this.#held || this.waiting > 0 || this.#messageHandlers.size === 0) {
      this.#queue.push(message);
      this.#drain();
      return;
    }
    // Nothing is before it: it goes to the handlers without a stop in the queue.
    this.#draining = true;
    try {
      this.#deliver(message);
    } finally {
      this.#draining = false;
    }
    if (this.#held || this.waiting > 0 || this.#isEnding()) this.#drain();
  }

  onMessage(handler: MessageHandler<In>): Unsubscribe {
    this.#messageHandlers.add(handler);
    // Delivery starts after the caller's turn, so that `onClose` can be subscribed in the same breath.
    queueMicrotask(() => this.#drain());
    return () => this.#messageHandlers.delete(handler);
  }

  onClose(handler: (reason: CloseReason) => void): Unsubscribe {
    const closed = this.#closed;
    if (closed) {
      let active = true;
      queueMicrotask(() => {
        if (active) handler(closed);
      });
      return () => {
        active = false;
      };
    }
    this.#closeHandlers.add(handler);
    return () => this.#closeHandlers.delete(handler);
  }

  /** Ends it after what already arrived has been delivered. The first reason stays. */
  finish(reason: CloseReason): void {
    if (this.#finishing || this.#closed) return;
    this.#finishing = reason;
    if (this.#messageHandlers.size === 0) this.#settle();
    else this.#drain();
  }

  /** Ends it now and forgets what waits. The first reason stays. */
  abort(reason: CloseReason): void {
    if (this.#closed) return;
    this.#finishing ??= reason;
    this.#queue = [];
    this.#head = 0;
    this.#settle();
  }

  /** Asked after a handler, which may have ended it. */
  #isEnding(): boolean {
    return this.#finishing !== undefined;
  }

  #settle(): void {
    if (this.#closed || !this.#finishing) return;
    this.#closed = this.#finishing;
    const handlers = [...this.#closeHandlers];
    this.#closeHandlers.clear();
    this.#messageHandlers.clear();
    for (const handler of handlers) handler(this.#closed);
  }

  #drain(): void {
    // A handler may cause the next message itself: it is delivered when the handler has returned, not inside it.
    if (this.#draining) return;
    this.#draining = true;
    try {
      while (!this.#held && this.waiting > 0 && this.#messageHandlers.size > 0) this.#deliver(this.#take());
    } finally {
      this.#draining = false;
    }
    if (this.waiting === 0 && !this.#held && this.#finishing) this.#settle();
    this.#signalFlow();
  }

  #take(): In {
    const message = this.#queue[this.#head] as In;
    this.#head += 1;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    return message;
  }

  #deliver(message: In): void {
    let pending: Promise<void>[] | undefined;
    try {
      for (const handler of this.#messageHandlers) {
        const result = handler(message);
        if (result instanceof Promise) {
          pending ??= [];
          pending.push(result);
        }
      }
    } catch (error) {
      this.#failed(error);
    }
    if (pending) this.#hold(pending);
  }

  #hold(pending: Promise<void>[]): void {
    this.#held = true;
    const release = (): void => {
      this.#held = false;
      this.#drain();
    };
    Promise.all(pending).then(release, (error: unknown) => {
      this.#failed(error);
      release();
    });
  }

  #failed(error: unknown): void {
    this.#queue = [];
    this.#head = 0;
    this.#flow.fail(error instanceof Error ? error : new Error(String(error)));
  }

  #signalFlow(): void {
    const shouldPause = this.#held || this.waiting > 0 || this.#messageHandlers.size === 0;
    if (shouldPause === this.#paused || this.#closed) return;
    this.#paused = shouldPause;
    if (shouldPause) this.#flow.pause();
    else this.#flow.resume();
  }
}

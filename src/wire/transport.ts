export type Unsubscribe = () => void;

/** Why a transport ended. `error` is set when it did not end in peace. */
export interface CloseReason {
  /** Who or what ended it. */
  readonly kind: 'closed' | 'peer-closed' | 'terminated' | 'error';
  /** One line for people. */
  readonly message: string;
  readonly error?: Error;
}

/**
 * A two-way channel for messages, whatever carries them. Whoever opens a transport owns it and closes it.
 *
 *     open ──close()/terminate()/peer ends/error──▶ closed (once, with a reason that replays to late subscribers)
 *
 * Nothing is delivered before the first `onMessage`, so no message is lost between opening and subscribing.
 */
export interface Transport<In, Out = In> {
  /** Set when messages leave as JSON text, so that an `EncodedJson` is sent as it is. */
  readonly carriesJson?: true;
  /**
   * Sends one message. A returned promise resolves when the peer may be sent more; a `void` return means right now.
   * After the close it throws `WIRE_CLOSED` (or rejects with it).
   */
  send(message: Out): void | Promise<void>;
  /**
   * Receives messages in order. A handler that returns a promise holds back the next message until it settles, which
   * stops the reading of the underlying pipe or socket: that is how a slow receiver slows its sender.
   */
  onMessage(handler: (message: In) => void | Promise<void>): Unsubscribe;
  /** Hears of the end, exactly once, also when it came before the subscription. */
  onClose(handler: (reason: CloseReason) => void): Unsubscribe;
  /** Ends it politely: what was sent is still delivered. */
  close(reason?: string): void;
  /** Ends it now. */
  terminate(): void;
}

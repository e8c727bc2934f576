/** Turns bytes into messages, whatever way the bytes are split. Pure: it knows no stream and no clock. */
export interface MessageDecoder<Message> {
  /** Takes the next bytes and emits every message that is now complete. Throws a `SallyportError` on a violation. */
  push(chunk: Uint8Array, emit: (message: Message) => void): void;
  /** Says that no more bytes come. Emits what is complete, or throws if the stream ended inside a message. */
  end(emit: (message: Message) => void): void;
  /** True while part of a message has arrived and the rest has not. */
  readonly pending: boolean;
  /** How many messages have been complete so far: tells one pending message from the next. */
  readonly completed: number;
}

/** How a target ended its side. */
export interface Ending {
  /** One line for people: the exit code or signal with the end of standard error, or the close code and reason. */
  readonly text: string;
  /** Of a command. Null when a signal ended it. */
  readonly exitCode?: number | null;
  /** Whether something went wrong: an exit with another code than 0, a signal, a connection that broke. */
  readonly crashed: boolean;
}

/** Bytes to and from a target: a pipe, which has no borders, or a WebSocket, where each piece is one frame. */
export interface Channel {
  readonly carrier: 'stream' | 'frames';
  /** Text becomes a text frame and bytes a binary one, where there are frames. */
  send(data: string | Uint8Array): void;
  onData(handler: (data: Uint8Array) => void): void;
  /** Hears of the end, also when it came before. */
  onEnd(handler: (ending: Ending) => void): void;
  /** Ends our side: closes standard input, or the socket. */
  end(): void;
}

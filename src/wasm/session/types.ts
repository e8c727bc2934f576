import type { SallyportError } from '../../errors/index.js';
import type { WireValue } from '../../wire/index.js';
import type { WasmLimits } from '../limits.js';
import type { OutgoingMessage } from '../messages.js';

/** What a session does to the world. It knows no pipe, no process and no clock but these. */
export interface SessionPort {
  /** Sends a message; a promise asks to wait before more is streamed. Throws what the transport throws. */
  send(message: OutgoingMessage): void | Promise<void>;
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  /** Asks that `check` is called at this time, or soon after. */
  wake(at: number): void;
  /** Says that something the peer waits for could not be sent: it cannot go on. */
  broken(error: SallyportError): void;
}

/** One call from the peer, as a function sees it. */
export interface IncomingCall {
  readonly callId: string;
  readonly functionName: string;
  readonly params: WireValue | undefined;
  /** Fires when the session ends. */
  readonly signal: AbortSignal;
  /** The chunks of a stream whose id came in `params`. */
  receive(id: string): AsyncIterable<WireValue>;
  /** Streams to an id that came in `params`; resolves when all was sent, or when it was given up. */
  send(id: string, chunks: AsyncIterable<unknown>): Promise<void>;
  /** Calls a function of the peer: one it grants, or a callback whose id came in `params`. */
  call(functionName: string, params?: unknown): Promise<WireValue | undefined>;
  /** The same without an answer. */
  notify(functionName: string, params?: unknown): void;
}

export type Answer = { readonly ok: true; readonly result: unknown } | { readonly ok: false; readonly error: string };

export interface SessionOptions {
  readonly port: SessionPort;
  readonly limits: WasmLimits;
  /** Finds what the peer may call. Nothing means that it may not. */
  readonly grant: (functionName: string) => ((call: IncomingCall) => Answer | Promise<Answer>) | undefined;
  /** What a call to anything else is: a host ends its guest, a guest answers with an error. */
  readonly onForbidden: 'violation' | 'error';
}

export interface CallLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

import { isSallyportError } from '../errors/index.js';
import { type CloseReason, EncodedJson, type Transport } from '../wire/index.js';
import { encodeOutput, notificationOf } from './encode-event.js';
import type { SessionEvent, SessionSink } from './events.js';
import type { ExecHandler } from './handler.js';
import type { ObservedSession } from './observer.js';
import { Processor } from './processor.js';
import type { Session } from './session.js';

export interface ConnectionOptions {
  /** Who is at the other end: only they may resume the session. */
  readonly principal?: string;
  /** Hears which session the connection has opened or resumed. */
  readonly onSession?: (session: ObservedSession) => void;
  /** Hears one line for people when the connection ends for a reason that the client should know. */
  readonly onProblem?: (problem: string) => void;
}

/** A connection that is being served. */
export interface ServedConnection {
  /** Resolves when it has ended and its session was detached or disposed. */
  readonly ended: Promise<void>;
  /** Ends it, politely. */
  close(reason?: string): void;
}

/**
 * One client on one transport: hands messages to a processor and events to the transport.
 *
 * What waits to be sent is counted. Above the window the session is asked to wait, which stops the children; answers
 * always go out, since clients get no more of them than they ask for.
 */
export class Connection implements SessionSink, ServedConnection {
  readonly ended: Promise<void>;
  readonly #transport: Transport<unknown, unknown>;
  readonly #handler: ExecHandler;
  readonly #processor: Processor;
  readonly #onProblem: (problem: string) => void;
  #session: Session | undefined;
  #unsent = 0;
  #full = false;

  constructor(handler: ExecHandler, transport: Transport<unknown, unknown>, options: ConnectionOptions = {}) {
    this.#handler = handler;
    this.#transport = transport;
    this.#onProblem = options.onProblem ?? (() => {});
    this.#processor = new Processor({
      handler,
      principal: options.principal ?? '',
      port: {
        send: (message) => this.#answer(message),
        opened: (session) => {
          this.#session = session;
          options.onSession?.(session);
        },
        ready: (session) => session.attach(this),
        fail: (reason) => this.#fail(reason),
      },
    });
    this.ended = new Promise((resolve) => {
      transport.onClose((reason) => void this.#onClose(reason).then(resolve));
    });
    transport.onMessage((message) => this.#processor.receive(message));
  }

  close(reason?: string): void {
    this.#transport.close(reason);
  }

  deliver(event: SessionEvent): 'more' | 'wait' {
    const dialect = this.#session?.dialect ?? 'later';
    const encoded = event.type === 'output' && this.#transport.carriesJson === true;
    const message = encoded ? encodeOutput(event, dialect) : notificationOf(event, dialect);
    this.#send(message);
    return this.#full ? 'wait' : 'more';
  }

  #answer(message: unknown): void | Promise<void> {
    const flushed = this.#send(message);
    if (this.#full) this.#session?.hold();
    return flushed;
  }

  /** Sends a message, and counts its size if it has to wait. */
  #send(message: unknown): void | Promise<void> {
    let flushed: void | Promise<void>;
    try {
      flushed = this.#transport.send(message);
    } catch (error) {
      // A client that asks and asks but never reads.
      if (isSallyportError(error, 'WIRE_BACKLOG')) return this.#fail(error.message);
      if (isSallyportError(error, 'WIRE_CLOSED')) return;
      throw error;
    }
    if (flushed === undefined) return;
    if (this.#unsent === 0) void flushed.then(this.#onFlushed, this.#onFlushed);
    this.#unsent += sizeOf(message);
    if (this.#unsent >= this.#handler.limits.sendWindowBytes) this.#full = true;
    return flushed;
  }

  readonly #onFlushed = (): void => {
    this.#unsent = 0;
    if (!this.#full) return;
    this.#full = false;
    this.#session?.ready();
  };

  #fail(reason: string): void {
    this.#onProblem(reason);
    this.#processor.end();
    this.#transport.close(reason);
  }

  async #onClose(reason: CloseReason): Promise<void> {
    if (reason.kind === 'error') this.#onProblem(reason.message);
    this.#processor.end();
    if (this.#session !== undefined) await this.#handler.sessions.leave(this.#session);
  }
}

/** About how long a message is as JSON: names and numbers of objects count for little beside the texts in them. */
function sizeOf(value: unknown): number {
  if (value instanceof EncodedJson) return value.line.length;
  if (typeof value === 'string') return value.length;
  let size = VALUE_BYTES;
  if (typeof value !== 'object' || value === null) return size;
  for (const item of Object.values(value)) size += VALUE_BYTES + sizeOf(item);
  return size;
}

/** What a value takes besides its text: its name, quotes and a comma. */
const VALUE_BYTES = 16;

import { SallyportError } from '../../errors/index.js';
import { printable, type WireValue } from '../../wire/index.js';
import { MAX_ERROR_CHARS } from '../limits.js';
import { type FunctionCall, functionCall, MESSAGE_TYPE, type Message, notification } from '../messages.js';
import { AnnouncedStreams } from './announced-streams.js';
import { Callbacks } from './callbacks.js';
import { extractSpecials, isFlat, type Specials } from './extract.js';
import { aborted, noStreamId, sendFailure, streamRefused, unknownId } from './failures.js';
import { IdCounter, isStreamId } from './ids.js';
import { IncomingCalls } from './incoming-calls.js';
import { OutgoingCall, OutgoingCalls } from './outgoing-calls.js';
import { ReceivedStreams } from './received-streams.js';
import { SentStreams } from './sent-streams.js';
import { refuseSinks } from './sink.js';
import { StreamQueue } from './stream-queue.js';
import type { CallLimits, IncomingCall, SessionOptions, SessionPort } from './types.js';

/** What the parameters of one message open. */
type Opened = Pick<OutgoingCall, 'callbacks' | 'received' | 'sent'>;

/**
 * One side of a duplex-rpc session: calls, callbacks and streams in both directions over one channel of messages. Both
 * roles are the same machine; they differ in what they grant and in what they do to a peer that asks for more.
 *
 *     open ──end(…)──▶ ended: every call and stream has its error, nothing more is sent
 *
 * `receive` throws a SallyportError for a violation; whoever feeds it then ends the peer and calls `end`.
 *
 * Ids that this side issues: `c` calls, `cb_` callbacks, `r` streams it receives, `s` streams it sends.
 */
export class DuplexSession {
  readonly #options: SessionOptions;
  readonly #port: SessionPort;
  readonly #callbacks = new Callbacks();
  readonly #calls = new OutgoingCalls();
  readonly #incoming: IncomingCalls;
  readonly #received: ReceivedStreams;
  readonly #receivedIds = new IdCounter('r');
  readonly #sent: SentStreams;
  readonly #abort = new AbortController();
  #wakeAt = Number.POSITIVE_INFINITY;
  #ended: ((fault: string) => Error) | undefined;

  constructor(options: SessionOptions) {
    const { port, limits } = options;
    this.#options = options;
    this.#port = port;
    this.#received = new ReceivedStreams(limits, () => port.now());
    const announced = new AnnouncedStreams(this.#received);
    this.#incoming = new IncomingCalls(options, this.#callbacks, announced, (message) => this.#present(message));
    this.#sent = new SentStreams(port, limits);
  }

  /** How many calls, callbacks and streams are under way. */
  get load(): number {
    return this.#calls.size + this.#incoming.size + this.#received.size + this.#sent.size;
  }

  /** Calls a function of the peer. */
  call(functionName: string, params: unknown, limits: CallLimits = {}): Promise<WireValue | undefined> {
    if (this.#ended !== undefined) return refuse(params, this.#ended(functionName));
    if (limits.signal?.aborted === true) return refuse(params, aborted(functionName));
    return new Promise((resolve, reject) => {
      const { timeoutMs = Number.POSITIVE_INFINITY, signal } = limits;
      const deadline = this.#port.now() + timeoutMs;
      const call = new OutgoingCall({ id: this.#calls.issue(), functionName, timeoutMs, deadline }, resolve, reject);
      try {
        const wire = isFlat(params) ? params : this.#open(params, call);
        void this.#port.send(functionCall(call.id, functionName, wire));
      } catch (error) {
        reject(this.#undo(call, params, sendFailure(error, functionName)));
        return;
      }
      this.#calls.add(call);
      if (call.sent !== undefined) this.#startAll(call.sent);
      if (deadline < this.#wakeAt) this.#wake(deadline);
      if (signal !== undefined) this.#listen(call, signal);
    });
  }

  /** Calls a function of the peer without an answer. Throws when it cannot be sent. */
  notify(functionName: string, params: unknown): void {
    if (this.#ended !== undefined) {
      const error = this.#ended(functionName);
      refuseSinks(params, error);
      throw error;
    }
    const opened: Opened = { callbacks: undefined, received: undefined, sent: undefined };
    try {
      const wire = this.#open(params, opened);
      if (opened.callbacks !== undefined) {
        throw new SallyportError(
          'WASM_PARAMS_INVALID',
          'a notification takes no callbacks: nothing says when they expire',
        );
      }
      void this.#port.send(notification(this.#calls.issue(), functionName, wire));
    } catch (error) {
      throw this.#undo(opened, params, sendFailure(error, functionName));
    }
    if (opened.sent !== undefined) this.#startAll(opened.sent);
  }

  /** Takes one message of the peer and its size on the wire. A promise asks that no other is handed over before it resolves. */
  receive(message: Message, bytes: number): void | Promise<void> {
    if (this.#ended !== undefined) return;
    switch (message.type) {
      case MESSAGE_TYPE.FunctionCall:
        return this.#called(message, bytes);
      case MESSAGE_TYPE.FunctionResponse:
        this.#settle(message.id, 'FunctionResponse').resolve(message.result);
        return;
      case MESSAGE_TYPE.FunctionError:
        this.#failed(message.id, message.error);
        return;
      case MESSAGE_TYPE.StreamChunk: {
        const queue = this.#queueOf(message.id, 'StreamChunk');
        return queue === undefined ? undefined : this.#received.chunk(message.id, queue, message.chunk, bytes);
      }
      case MESSAGE_TYPE.StreamEnd: {
        const queue = this.#queueOf(message.id, 'StreamEnd');
        if (queue === undefined) return;
        this.#received.end(message.id, queue);
        this.#incoming.streamEnded(message.id);
        return;
      }
      case MESSAGE_TYPE.StreamError: {
        const queue = this.#queueOf(message.id, 'StreamError');
        if (queue === undefined) return;
        this.#received.error(message.id, queue, message.error);
        this.#incoming.streamEnded(message.id);
        return;
      }
    }
  }

  /** Looks for whatever has taken too long, and asks to be woken again. Returns the violation, if there is one. */
  check(): SallyportError | undefined {
    if (this.#ended !== undefined) return undefined;
    const now = this.#port.now();
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const others = this.#calls.size + this.#incoming.size > 0 ? 'waiting' : 'none';
    const late =
      this.#calls.overdue(now) ??
      this.#sent.overdue(now) ??
      this.#incoming.overdue(now) ??
      this.#received.overdue(now, others);
    if (late !== undefined) return late;
    let next = this.#calls.nextDeadline;
    if (this.#received.size + this.#sent.size > 0 || this.#incoming.full) next = Math.min(next, now + this.#step());
    if (next < Number.POSITIVE_INFINITY) this.#wake(next);
    return undefined;
  }

  /** Ends it: every pending call and open stream gets the error that is made for it. */
  end(errorFor: (fault: string) => Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = errorFor;
    this.#abort.abort();
    this.#calls.rejectAll(errorFor);
    this.#callbacks.clear();
    this.#incoming.end();
    this.#received.closeAll(errorFor);
    this.#sent.stopAll();
  }

  /** Replaces what cannot be sent by ids, and notes what was opened for it. */
  #open(params: unknown, opened: Opened): unknown {
    const specials: Specials = {
      callback: (callback) => {
        const id = this.#callbacks.open(callback);
        opened.callbacks ??= [];
        opened.callbacks.push(id);
        return id;
      },
      receive: (queue) => {
        const id = this.#receivedIds.issue();
        this.#received.open(id, queue);
        this.#wakeSoon();
        opened.received ??= [];
        opened.received.push({ id, queue });
        return id;
      },
      send: (iterable) => {
        const id = this.#sent.issue();
        opened.sent ??= [];
        opened.sent.push({ id, iterable });
        return id;
      },
    };
    return extractSpecials(params, specials);
  }

  /** Forgets what was opened for a message that never left, and tells whoever waits for it. Returns the error. */
  #undo({ callbacks, received }: Opened, params: unknown, error: unknown): unknown {
    if (callbacks !== undefined) this.#callbacks.close(callbacks);
    for (const { id, queue } of received ?? []) {
      this.#received.forget(id);
      queue.refuse(error instanceof Error ? error : new Error(String(error)));
    }
    refuseSinks(params, error);
    return error;
  }

  /** The peer must hear of a stream before it hears from it, so this comes after the message that announces it. */
  #startAll(streams: NonNullable<Opened['sent']>): void {
    for (const { id, iterable } of streams) void this.#sent.start(id, iterable);
    this.#wakeSoon();
  }

  #listen(call: OutgoingCall, signal: AbortSignal): void {
    const onAbort = (): void => this.#abandon(call);
    signal.addEventListener('abort', onAbort, { once: true });
    call.stopListening = () => signal.removeEventListener('abort', onAbort);
  }

  #abandon(call: OutgoingCall): void {
    if (call.abandoned || !this.#calls.has(call)) return;
    call.abandoned = true;
    const error = aborted(call.functionName);
    this.#expire(call);
    this.#dropStreams(call, error, 'the call was aborted');
    call.reject(error);
  }

  /** Takes a call out of the books: its callbacks expire, its answer is used up. */
  #settle(id: string, kind: string): OutgoingCall {
    const call = this.#calls.settle(id, kind);
    if (call.callbacks !== undefined) this.#expire(call);
    return call;
  }

  #failed(id: string, error: string): void {
    const call = this.#settle(id, 'FunctionError');
    const text = printable(error, MAX_ERROR_CHARS);
    const failure = new SallyportError('WASM_CALL_FAILED', text, { function: call.functionName });
    this.#dropStreams(call, failure, 'the call failed');
    call.reject(failure);
  }

  #expire(call: OutgoingCall): void {
    this.#callbacks.close(call.callbacks ?? []);
    call.callbacks = undefined;
  }

  /**
   * Whoever failed or gave up does not go on with the streams of the call: what waits is still handed out, what comes is
   * thrown away.
   */
  #dropStreams(call: OutgoingCall, error: Error, reason: string): void {
    for (const { id } of call.sent ?? []) this.#sent.stop(id, reason);
    for (const { id, queue } of call.received ?? []) {
      queue.fail(error);
      this.#received.drop(id);
    }
  }

  #called(message: FunctionCall, bytes: number): void | Promise<void> {
    const wait = this.#incoming.take(message, bytes);
    if (wait !== undefined) this.#wakeSoon();
    return wait;
  }

  /** Finds where a message of a stream goes. Nothing means that it is to be ignored. */
  #queueOf(id: string, kind: string): StreamQueue | undefined {
    const open = this.#received.get(id);
    if (open !== undefined) return open;
    const arrived = this.#incoming.streamArrived(id);
    if (arrived instanceof StreamQueue) {
      this.#wakeSoon();
      return arrived;
    }
    if (this.#options.onForbidden === 'error') return undefined;
    throw unknownId(kind, id, this.#receivedIds.issued(id) ? 'ended already' : arrived);
  }

  #present(message: FunctionCall): IncomingCall {
    return {
      callId: message.id,
      functionName: message.functionName,
      params: message.params,
      signal: this.#abort.signal,
      receive: (id) => this.#claim(message, id),
      send: (id, chunks) => this.#sendTo(id, chunks),
      call: (functionName, params) => this.call(functionName, params),
      notify: (functionName, params) => this.notify(functionName, params),
    };
  }

  #claim(message: FunctionCall, id: string): AsyncIterable<WireValue> {
    if (!isStreamId(id)) throw noStreamId(id);
    const queue = this.#incoming.claim(message, id) ?? this.#received.live(id);
    if (queue === undefined) throw streamRefused(id, 'absent');
    this.#wakeSoon();
    return queue;
  }

  #sendTo(id: string, chunks: AsyncIterable<unknown>): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended(id));
    if (!isStreamId(id)) return Promise.reject(noStreamId(id));
    if (this.#sent.has(id)) return Promise.reject(streamRefused(id, 'taken'));
    const sent = this.#sent.start(id, chunks);
    this.#wakeSoon();
    return sent;
  }

  #step(): number {
    const { stallMs, streamIdleMs } = this.#options.limits;
    return Math.max(1, Math.min(stallMs, streamIdleMs) / 4);
  }

  #wakeSoon(): void {
    const at = this.#port.now() + this.#step();
    if (at < this.#wakeAt) this.#wake(at);
  }

  #wake(at: number): void {
    this.#wakeAt = at;
    this.#port.wake(at);
  }
}

function refuse(params: unknown, error: Error): Promise<never> {
  refuseSinks(params, error);
  return Promise.reject(error);
}

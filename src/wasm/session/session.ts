import { messageOfThrown } from '../../capabilities/index.js';
import { isSallyportError, SallyportError } from '../../errors/index.js';
import { printable, type WireValue } from '../../wire/index.js';
import { MAX_ERROR_CHARS, MAX_ID_CHARS, REMEMBERED_IDS, type WasmLimits } from '../limits.js';
import {
  type FunctionCall,
  functionCall,
  functionError,
  functionResponse,
  MESSAGE_TYPE,
  type Message,
  notification,
  type OutgoingMessage,
} from '../messages.js';
import { type Callback, extractSpecials } from './extract.js';
import { ReceivedStreams } from './received-streams.js';
import { RecentIds } from './recent-ids.js';
import { SentStream } from './sent-stream.js';
import { StreamQueue } from './stream-queue.js';

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
  /** Streams to an id that came in `params`; resolves when all was sent. */
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

interface PendingCall {
  readonly id: string;
  readonly functionName: string;
  readonly timeoutMs: number;
  readonly deadline: number;
  readonly resolve: (result: WireValue | undefined) => void;
  readonly reject: (error: Error) => void;
  callbacks: string[] | undefined;
  received: StreamQueue[] | undefined;
  sent: string[] | undefined;
  /** Set once nobody waits for it any more; its answer is still expected. */
  abandoned: boolean;
  stopListening: (() => void) | undefined;
}

const CALLBACK_ID = /^cb_(0|[1-9]\d{0,15})$/;

/** Tells whether a name could be taken for a callback of a call. */
export function isCallbackName(name: string): boolean {
  return CALLBACK_ID.test(name);
}

/**
 * One side of a duplex-rpc session: calls, callbacks and streams in both directions over one channel of messages. Both
 * roles are the same machine; they differ in what they grant and in what they do to a peer that asks for more.
 *
 *     open ──end(…)──▶ ended: every call and stream has its error, nothing more is sent
 *
 * `receive` throws a SallyportError for a violation; whoever feeds it then ends the peer and calls `end`.
 *
 * Ids that this side issues: `c` calls, `cb_` callbacks, `r` streams it receives, `s` streams it sends. They count up, so
 * that an id which is no longer open but was issued once can be told from one that never was, without remembering any.
 */
export class DuplexSession {
  readonly #options: SessionOptions;
  readonly #port: SessionPort;
  readonly #calls = new Map<string, PendingCall>();
  readonly #callbacks = new Map<string, Callback>();
  readonly #incoming = new Map<string, FunctionCall>();
  readonly #recent = new RecentIds(REMEMBERED_IDS);
  readonly #received: ReceivedStreams;
  readonly #sent = new Map<string, SentStream>();
  readonly #abort = new AbortController();
  #nextCall = 0;
  #nextCallback = 0;
  #nextReceived = 0;
  #nextSent = 0;
  #wakeAt = Number.POSITIVE_INFINITY;
  #room: Promise<void> | undefined;
  #releaseRoom: (() => void) | undefined;
  #roomSince: number | undefined;
  #ended: ((fault: string) => Error) | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#port = options.port;
    this.#received = new ReceivedStreams(options.limits, () => this.#port.now());
  }

  /** How many calls, callbacks and streams are under way. */
  get load(): number {
    return this.#calls.size + this.#incoming.size + this.#received.size + this.#sent.size;
  }

  /** How many calls wait for an answer. */
  get pendingCalls(): number {
    return this.#calls.size;
  }

  /** Calls a function of the peer. */
  call(
    functionName: string,
    params: unknown,
    { timeoutMs = Number.POSITIVE_INFINITY, signal }: CallLimits = {},
  ): Promise<WireValue | undefined> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended(functionName));
    if (signal?.aborted === true) return Promise.reject(aborted(functionName));
    return new Promise((resolve, reject) => {
      const deadline = this.#port.now() + timeoutMs;
      const call: PendingCall = {
        id: `c${this.#nextCall++}`,
        functionName,
        timeoutMs,
        deadline,
        resolve,
        reject,
        callbacks: undefined,
        received: undefined,
        sent: undefined,
        abandoned: false,
        stopListening: undefined,
      };
      try {
        this.#start(call, params);
      } catch (error) {
        reject(error);
        return;
      }
      if (deadline < this.#wakeAt) this.#wake(deadline);
      if (signal === undefined) return;
      const onAbort = (): void => this.#abandon(call);
      signal.addEventListener('abort', onAbort, { once: true });
      call.stopListening = () => signal.removeEventListener('abort', onAbort);
    });
  }

  /** Calls a function of the peer without an answer. Throws when it cannot be sent. */
  notify(functionName: string, params: unknown): void {
    if (this.#ended !== undefined) throw this.#ended(functionName);
    const sources: [string, AsyncIterable<unknown>][] = [];
    const opened: string[] = [];
    const wire = extractSpecials(params, {
      callback: () => {
        throw new SallyportError(
          'WASM_PARAMS_INVALID',
          'a notification takes no callbacks: nothing says when they expire',
        );
      },
      receive: (queue) => {
        const id = this.#expectStream(queue);
        opened.push(id);
        return id;
      },
      send: (iterable) => {
        const id = `s${this.#nextSent++}`;
        sources.push([id, iterable]);
        return id;
      },
    });
    try {
      void this.#port.send(notification(`c${this.#nextCall++}`, functionName, wire));
    } catch (error) {
      for (const id of opened) this.#received.forget(id);
      throw sendFailure(error, functionName);
    }
    for (const [id, iterable] of sources) void this.#stream(id, iterable);
  }

  /** Takes one message of the peer and its size on the wire. A promise asks that no other is handed over before it resolves. */
  receive(message: Message, bytes: number): void | Promise<void> {
    if (this.#ended !== undefined) return;
    switch (message.type) {
      case MESSAGE_TYPE.FunctionCall:
        return this.#called(message);
      case MESSAGE_TYPE.FunctionResponse:
        this.#settle(message.id, 'FunctionResponse').resolve(message.result);
        return;
      case MESSAGE_TYPE.FunctionError:
        this.#failed(message.id, message.error);
        return;
      case MESSAGE_TYPE.StreamChunk: {
        const queue = this.#received.get(message.id) ?? this.#unclaimed(message.id, 'StreamChunk');
        return queue === undefined ? undefined : this.#received.chunk(message.id, queue, message.chunk, bytes);
      }
      case MESSAGE_TYPE.StreamEnd:
        if (this.#received.has(message.id) || this.#unclaimed(message.id, 'StreamEnd')) this.#received.end(message.id);
        return;
      case MESSAGE_TYPE.StreamError:
        if (this.#received.has(message.id) || this.#unclaimed(message.id, 'StreamError')) {
          this.#received.error(message.id, message.error);
        }
        return;
    }
  }

  /** Looks for whatever has taken too long, and asks to be woken again. Returns the violation, if there is one. */
  check(): SallyportError | undefined {
    if (this.#ended !== undefined) return undefined;
    const now = this.#port.now();
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const late = this.#lateCall(now) ?? this.#blocked(now) ?? this.#received.overdue(now, this.#others());
    if (late !== undefined) return late;
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls.values()) next = Math.min(next, call.deadline);
    if (this.#received.size + this.#sent.size > 0 || this.#roomSince !== undefined)
      next = Math.min(next, now + this.#step());
    if (next < Number.POSITIVE_INFINITY) this.#wake(next);
    return undefined;
  }

  /** Ends it: every pending call and open stream gets the error that is made for it. */
  end(errorFor: (fault: string) => Error): void {
    if (this.#ended !== undefined) return;
    this.#ended = errorFor;
    this.#abort.abort();
    for (const call of this.#calls.values()) {
      call.stopListening?.();
      call.reject(errorFor(call.functionName));
    }
    this.#calls.clear();
    this.#callbacks.clear();
    this.#incoming.clear();
    this.#received.closeAll(errorFor);
    for (const stream of this.#sent.values()) stream.stop();
    this.#sent.clear();
    this.#releaseRoom?.();
  }

  #start(call: PendingCall, params: unknown): void {
    const sources: [string, AsyncIterable<unknown>][] = [];
    const opened: string[] = [];
    try {
      const wire = extractSpecials(params, {
        callback: (callback) => {
          const id = `cb_${this.#nextCallback++}`;
          this.#callbacks.set(id, callback);
          call.callbacks ??= [];
          call.callbacks.push(id);
          return id;
        },
        receive: (queue) => {
          const id = this.#expectStream(queue);
          opened.push(id);
          call.received ??= [];
          call.received.push(queue);
          return id;
        },
        send: (iterable) => {
          const id = `s${this.#nextSent++}`;
          sources.push([id, iterable]);
          return id;
        },
      });
      void this.#port.send(functionCall(call.id, call.functionName, wire));
    } catch (error) {
      for (const id of opened) this.#received.forget(id);
      this.#expire(call);
      throw sendFailure(error, call.functionName);
    }
    this.#calls.set(call.id, call);
    // The peer must hear of a stream before it hears from it.
    for (const [id, iterable] of sources) void this.#stream(id, iterable);
    if (sources.length > 0) call.sent = sources.map(([id]) => id);
  }

  #expectStream(queue: StreamQueue): string {
    const id = `r${this.#nextReceived++}`;
    this.#received.open(id, queue);
    this.#wakeSoon();
    return id;
  }

  #stream(id: string, iterable: AsyncIterable<unknown>): Promise<void> {
    const stream = new SentStream(id, iterable, {
      send: (message) => this.#sendChunk(message),
      now: () => this.#port.now(),
    });
    this.#sent.set(id, stream);
    this.#wakeSoon();
    return stream.finished.then(() => {
      this.#sent.delete(id);
    });
  }

  #sendChunk(message: OutgoingMessage): void | Promise<void> {
    try {
      return this.#port.send(message);
    } catch (error) {
      if (isSallyportError(error, 'WIRE_BACKLOG')) this.#port.broken(backlog(error, 'a stream was'));
      throw error;
    }
  }

  /** Takes a call out of the books: its callbacks expire, its answer is used up. */
  #settle(id: string, kind: string): PendingCall {
    const call = this.#calls.get(id);
    if (call === undefined)
      throw unknownId(
        kind,
        id,
        isIssued(id, 'c', this.#nextCall) ? 'answered already, or not to be answered' : 'never issued',
      );
    this.#calls.delete(id);
    if (call.stopListening !== undefined) call.stopListening();
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

  /** Whoever failed or gave up does not go on with the streams of the call: what comes is thrown away. */
  #dropStreams(call: PendingCall, error: Error, reason: string): void {
    for (const id of call.sent ?? []) this.#sent.get(id)?.stop(reason);
    for (const queue of call.received ?? []) {
      queue.fail(error);
      if (queue.waiting === 0) queue.abandon();
    }
  }

  #expire(call: PendingCall): void {
    for (const id of call.callbacks ?? []) this.#callbacks.delete(id);
    call.callbacks = undefined;
  }

  #abandon(call: PendingCall): void {
    if (call.abandoned || !this.#calls.has(call.id)) return;
    call.abandoned = true;
    const error = aborted(call.functionName);
    this.#expire(call);
    this.#dropStreams(call, error, 'the call was aborted');
    call.reject(error);
  }

  /** Finds the call that announced a stream nobody has claimed yet, and keeps its chunks until somebody does. */
  #unclaimed(id: string, kind: string): StreamQueue | undefined {
    for (const call of this.#incoming.values()) {
      if (!mentions(call.params, id)) continue;
      const queue = new StreamQueue();
      this.#received.open(id, queue);
      this.#wakeSoon();
      return queue;
    }
    if (this.#options.onForbidden === 'error') return undefined;
    throw unknownId(kind, id, isIssued(id, 'r', this.#nextReceived) ? 'ended already' : 'never issued');
  }

  #called(message: FunctionCall): void | Promise<void> {
    const { id, functionName } = message;
    if (this.#incoming.has(id) || this.#recent.has(id)) throw unknownId('FunctionCall', id, 'used before');
    const callback = this.#callbacks.get(functionName);
    if (callback !== undefined) {
      this.#run(message, () => callback(message.params));
      return this.#crowded();
    }
    if (isIssued(functionName, 'cb_', this.#nextCallback)) {
      this.#recent.add(id);
      this.#answer(message, { ok: false, error: 'callback expired' });
      return;
    }
    const granted = this.#options.grant(functionName);
    if (granted === undefined) {
      this.#forbidden(message);
      return;
    }
    this.#incoming.set(id, message);
    const answer = granted(this.#incomingCall(message));
    if (!(answer instanceof Promise)) {
      this.#finish(message, answer);
      return;
    }
    answer.then(
      (settled) => this.#finish(message, settled),
      (error: unknown) => this.#finish(message, { ok: false, error: messageOfThrown(error, 'the function failed') }),
    );
    return this.#crowded();
  }

  #forbidden(message: FunctionCall): void {
    const shown = printable(message.functionName, 80);
    if (this.#options.onForbidden === 'error') {
      this.#recent.add(message.id);
      this.#answer(message, { ok: false, error: `There is no function ${shown}` });
      return;
    }
    throw new SallyportError('WASM_NOT_GRANTED', `the guest called ${JSON.stringify(shown)}, which was not granted`, {
      function: shown,
    });
  }

  /** Runs a callback. One that answers at once costs no promise. */
  #run(message: FunctionCall, body: () => unknown): void {
    this.#incoming.set(message.id, message);
    let result: unknown;
    try {
      result = body();
    } catch (error) {
      this.#finish(message, { ok: false, error: messageOfThrown(error, 'the callback failed') });
      return;
    }
    if (!isThenable(result)) {
      this.#finish(message, { ok: true, result });
      return;
    }
    Promise.resolve(result).then(
      (value: unknown) => this.#finish(message, { ok: true, result: value }),
      (error: unknown) => this.#finish(message, { ok: false, error: messageOfThrown(error, 'the callback failed') }),
    );
  }

  #finish(message: FunctionCall, answer: Answer): void {
    if (!this.#incoming.delete(message.id)) return;
    this.#recent.add(message.id);
    if (this.#releaseRoom !== undefined && this.#incoming.size < this.#options.limits.concurrentCallbacks) {
      this.#releaseRoom();
      this.#releaseRoom = undefined;
      this.#room = undefined;
      this.#roomSince = undefined;
    }
    this.#answer(message, answer);
  }

  #answer({ id, expectsResponse }: FunctionCall, answer: Answer): void {
    if (expectsResponse === false || this.#ended !== undefined) return;
    try {
      void this.#port.send(answer.ok ? functionResponse(id, answer.result) : functionError(id, answer.error));
    } catch (error) {
      if (!isSallyportError(error)) throw error;
      if (error.code === 'WIRE_CLOSED') return;
      if (error.code === 'WIRE_BACKLOG') this.#port.broken(backlog(error, 'an answer was'));
      // What cannot be encoded becomes an error that can.
      else if (answer.ok) this.#answer({ id, type: 0, functionName: '' }, { ok: false, error: error.message });
    }
  }

  #crowded(): void | Promise<void> {
    if (this.#incoming.size < this.#options.limits.concurrentCallbacks) return;
    this.#roomSince ??= this.#port.now();
    this.#wakeSoon();
    this.#room ??= new Promise((resolve) => {
      this.#releaseRoom = resolve;
    });
    return this.#room;
  }

  #incomingCall(message: FunctionCall): IncomingCall {
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
    const known = this.#received.get(id);
    if (known !== undefined) return known;
    if (!this.#incoming.has(message.id) || !mentions(message.params, id)) {
      throw new SallyportError('WASM_UNKNOWN_ID', `the parameters of the call have no stream ${printable(id, 80)}`);
    }
    const queue = new StreamQueue();
    this.#received.open(id, queue);
    this.#wakeSoon();
    return queue;
  }

  #sendTo(id: string, chunks: AsyncIterable<unknown>): Promise<void> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended(id));
    if (!isStreamId(id)) return Promise.reject(noStreamId(id));
    if (this.#sent.has(id))
      return Promise.reject(new SallyportError('WASM_UNKNOWN_ID', `stream ${printable(id, 80)} is sent already`));
    return this.#stream(id, chunks);
  }

  #lateCall(now: number): SallyportError | undefined {
    for (const { id, functionName, timeoutMs, deadline } of this.#calls.values()) {
      if (deadline > now) continue;
      const message = `the call of ${functionName} took longer than ${timeoutMs} ms`;
      return new SallyportError('WASM_TIMEOUT', message, { function: functionName, call: id, limitMs: timeoutMs });
    }
    return undefined;
  }

  /** Finds a stream that the peer does not take, or callbacks of its own that keep it waiting. */
  #blocked(now: number): SallyportError | undefined {
    const { streamIdleMs, stallMs } = this.#options.limits;
    for (const [id, { blockedSince }] of this.#sent) {
      if (blockedSince === undefined || now - blockedSince < streamIdleMs) continue;
      const message = `the peer took nothing of stream ${id} for ${streamIdleMs} ms`;
      return new SallyportError('WASM_STREAM_IDLE', message, { stream: id, limitMs: streamIdleMs });
    }
    if (this.#roomSince === undefined || now - this.#roomSince < stallMs) return undefined;
    const message = `${this.#incoming.size} calls of the guest to the host ran at once for ${stallMs} ms`;
    return new SallyportError('WASM_STREAM_STALLED', message, { limitMs: stallMs });
  }

  #others(): 'waiting' | 'none' {
    return this.#calls.size + this.#incoming.size > 0 ? 'waiting' : 'none';
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

/** Tells whether a counter has given out this id: digits without leading zeros, below the next number. */
function isIssued(id: string, prefix: string, next: number): boolean {
  if (!id.startsWith(prefix)) return false;
  const number = Number(id.slice(prefix.length));
  return Number.isSafeInteger(number) && number < next && id === `${prefix}${number}`;
}

/** Ids of streams come out of parameters, where the peer may have put anything at all, or nothing. */
function isStreamId(id: unknown): boolean {
  return typeof id === 'string' && id.length > 0 && id.length <= MAX_ID_CHARS;
}

function noStreamId(id: unknown): SallyportError {
  const shown = typeof id === 'string' ? `a text of ${id.length} characters` : typeof id;
  return new SallyportError(
    'WASM_UNKNOWN_ID',
    `the id of a stream must be a text of 1 to ${MAX_ID_CHARS} characters, not ${shown}`,
  );
}

/** Tells whether a string occurs as a value in params: that is how a caller announces the id of a stream. */
function mentions(value: WireValue | undefined, id: string): boolean {
  if (typeof value === 'string') return value === id;
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return false;
  return Object.values(value).some((item) => mentions(item, id));
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

function unknownId(kind: string, id: string, why: string): SallyportError {
  const shown = printable(id, 80);
  return new SallyportError('WASM_UNKNOWN_ID', `${kind} for the id ${JSON.stringify(shown)}, which was ${why}`, {
    id: shown,
  });
}

function aborted(functionName: string): SallyportError {
  return new SallyportError('WASM_CALL_ABORTED', `the call of ${functionName} was aborted`, { function: functionName });
}

/** Says in the terms of this room why a call could not be sent. */
function sendFailure(error: unknown, functionName: string): unknown {
  if (!isSallyportError(error)) return error;
  const facts = { ...error.facts, function: functionName };
  if (error.code === 'VALUE_NOT_SERIALIZABLE' || error.code === 'WIRE_BUDGET_BYTES') {
    return new SallyportError(
      'WASM_PARAMS_INVALID',
      `the parameters of ${functionName} cannot be sent: ${error.message}`,
      facts,
      { cause: error },
    );
  }
  return error.code === 'WIRE_BACKLOG' ? backlog(error, `the call of ${functionName} was`) : error;
}

function backlog(error: SallyportError, what: string): SallyportError {
  return new SallyportError('WASM_BACKLOG', `${what} not sent: ${error.message}`, error.facts, { cause: error });
}

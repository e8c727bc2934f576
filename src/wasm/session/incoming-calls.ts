import { messageOfThrown } from '../../capabilities/index.js';
import { isSallyportError, SallyportError } from '../../errors/index.js';
import { Gate, printable } from '../../wire/index.js';
import { MAX_ERROR_CHARS, REMEMBERED_IDS } from '../limits.js';
import { type FunctionCall, functionError, functionResponse, type OutgoingMessage } from '../messages.js';
import type { AnnouncedStreams } from './announced-streams.js';
import type { Callbacks } from './callbacks.js';
import type { Callback } from './extract.js';
import { backlog, notGranted, unknownId } from './failures.js';
import { heapCost } from './heap-cost.js';
import { RecentIds } from './recent-ids.js';
import type { StreamQueue } from './stream-queue.js';
import type { Answer, IncomingCall, SessionOptions } from './types.js';

/** What a peer hears when the error of a function cannot be sent. It fits into any frame that a session is of use with. */
const UNSENDABLE = 'the error cannot be sent';

/**
 * The calls of the peer: what it may call, the answers, and how much of it runs at once.
 *
 *     called ──callback of a call that runs──▶ answered
 *        ├────granted────────────────────────▶ running ──▶ answered
 *        ├────callback of a call that ended──▶ "callback expired"
 *        └────anything else──────────────────▶ a violation, or an error: what the options say
 */
export class IncomingCalls {
  readonly #options: SessionOptions;
  readonly #callbacks: Callbacks;
  readonly #announced: AnnouncedStreams;
  readonly #present: (message: FunctionCall) => IncomingCall;
  readonly #running = new Map<string, FunctionCall>();
  readonly #recent = new RecentIds(REMEMBERED_IDS);
  readonly #room = new Gate();
  /** What the calls that run cost. */
  #cost = 0;
  #fullSince: number | undefined;
  #ended = false;

  /** `present` shows a message to a function as the call that it is. */
  constructor(
    options: SessionOptions,
    callbacks: Callbacks,
    announced: AnnouncedStreams,
    present: (message: FunctionCall) => IncomingCall,
  ) {
    this.#options = options;
    this.#callbacks = callbacks;
    this.#announced = announced;
    this.#present = present;
  }

  /** How many run. */
  get size(): number {
    return this.#running.size;
  }

  /** Whether so many run that the peer has to wait. */
  get full(): boolean {
    return this.#fullSince !== undefined;
  }

  /** Finds the queue for a stream that a call which runs has announced, or says why there is none. */
  streamArrived(id: string): StreamQueue | 'never issued' | 'ended already' {
    return this.#announced.arrived(id, this.#running.values());
  }

  streamEnded(id: string): void {
    this.#announced.ended(id, this.#running.values());
  }

  /** Gives a function the stream that its call announced, as long as that call runs. */
  claim(message: FunctionCall, id: string): StreamQueue | undefined {
    return this.#running.get(message.id) === message ? this.#announced.claim(message, id) : undefined;
  }

  /** Takes a call and its size on the wire. A promise asks that nothing else is handed over before it resolves. Throws for a violation. */
  take(message: FunctionCall, bytes: number): void | Promise<void> {
    const { id, functionName } = message;
    if (this.#recent.has(id) || this.#running.has(id)) throw unknownId('FunctionCall', id, 'used before');
    const callback = this.#callbacks.get(functionName);
    if (callback !== undefined) return this.#callBack(message, callback, bytes);
    if (this.#callbacks.expired(functionName)) {
      this.#recent.add(id);
      this.#answer(message, functionError(id, 'callback expired'));
      return;
    }
    const granted = this.#options.grant(functionName);
    if (granted === undefined) {
      this.#forbidden(message);
      return;
    }
    this.#running.set(id, message);
    const answer = granted(this.#present(message));
    if (!(answer instanceof Promise)) {
      this.#finish(message, answer, 0);
      return;
    }
    return this.#await(message, answer, 'the function failed', bytes);
  }

  /** Finds out whether calls of the peer have kept it waiting for too long. */
  overdue(now: number): SallyportError | undefined {
    const { stallMs } = this.#options.limits;
    if (this.#fullSince === undefined || now - this.#fullSince < stallMs) return undefined;
    const message = `${this.#running.size} calls of the guest to the host ran at once for ${stallMs} ms`;
    return new SallyportError('WASM_STREAM_STALLED', message, { limitMs: stallMs });
  }

  /** Answers nothing any more. */
  end(): void {
    this.#ended = true;
    this.#running.clear();
    this.#announced.clear();
    this.#room.open();
  }

  /** Runs a callback. One that answers at once is never seen running, and costs no promise. */
  #callBack(message: FunctionCall, callback: Callback, bytes: number): void | Promise<void> {
    const { id } = message;
    let result: unknown;
    let later: Promise<unknown> | undefined;
    try {
      result = callback(message.params);
      if (isThenable(result)) later = Promise.resolve(result);
    } catch (error) {
      this.#recent.add(id);
      this.#answer(message, functionError(id, messageOfThrown(error, 'the callback failed')));
      return;
    }
    if (later === undefined) {
      this.#recent.add(id);
      this.#answer(message, functionResponse(id, result));
      return;
    }
    this.#running.set(id, message);
    const answer = later.then((value: unknown) => ({ ok: true, result: value }) as const);
    return this.#await(message, answer, 'the callback failed', bytes);
  }

  #await(message: FunctionCall, answer: Promise<Answer>, otherwise: string, bytes: number): void | Promise<void> {
    const cost = heapCost(message.params, bytes);
    this.#cost += cost;
    answer.then(
      (settled) => this.#finish(message, settled, cost),
      (error: unknown) => this.#finish(message, { ok: false, error: messageOfThrown(error, otherwise) }, cost),
    );
    return this.#crowded();
  }

  #forbidden(message: FunctionCall): void {
    if (this.#options.onForbidden === 'violation') throw notGranted(message.functionName);
    this.#recent.add(message.id);
    const shown = printable(message.functionName, 80);
    this.#answer(message, functionError(message.id, `There is no function ${shown}`));
  }

  #finish(message: FunctionCall, answer: Answer, cost: number): void {
    const { id } = message;
    if (!this.#running.delete(id)) return;
    this.#recent.add(id);
    this.#announced.forget(message);
    this.#cost -= cost;
    if (this.#room.shut && this.#hasRoom()) {
      this.#room.open();
      this.#fullSince = undefined;
    }
    this.#answer(message, answer.ok ? functionResponse(id, answer.result) : functionError(id, answer.error));
  }

  #answer(call: FunctionCall, answer: OutgoingMessage): void {
    if (call.expectsResponse === false || this.#ended) return;
    try {
      void this.#options.port.send(answer);
    } catch (error) {
      this.#notSent(call, answer, error);
    }
  }

  /** What cannot be encoded becomes an error that can, whatever is wrong with it: the peer waits for an answer. */
  #notSent(call: FunctionCall, answer: OutgoingMessage, error: unknown): void {
    if (isSallyportError(error, 'WIRE_CLOSED')) return;
    if (isSallyportError(error, 'WIRE_BACKLOG')) {
      this.#options.port.broken(backlog(error, 'an answer was'));
    } else if (answer.type === 1) {
      const text = printable(messageOfThrown(error, 'the result cannot be sent'), MAX_ERROR_CHARS);
      this.#answer(call, functionError(call.id, text));
    } else if (answer.type === 2 && answer.error !== UNSENDABLE) {
      this.#answer(call, functionError(call.id, UNSENDABLE));
    }
  }

  /** Whether another call may come. One alone never keeps the peer waiting: it may need what else the peer has to say. */
  #hasRoom(): boolean {
    const { concurrentCallbacks, callbackBytes } = this.#options.limits;
    const { size } = this.#running;
    return size < concurrentCallbacks && (this.#cost <= callbackBytes || size < 2);
  }

  #crowded(): void | Promise<void> {
    if (this.#hasRoom()) return;
    this.#fullSince ??= this.#options.port.now();
    return this.#room.wait();
  }
}

/** Tells a promise of any make from a value. */
export function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

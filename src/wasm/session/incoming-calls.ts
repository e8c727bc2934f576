import { messageOfThrown } from '../../capabilities/index.js';
import { isSallyportError, SallyportError } from '../../errors/index.js';
import { Gate, printable } from '../../wire/index.js';
import { REMEMBERED_IDS } from '../limits.js';
import { type FunctionCall, functionError, functionResponse, type OutgoingMessage } from '../messages.js';
import type { Callbacks } from './callbacks.js';
import type { Callback } from './extract.js';
import { backlog, notGranted, unknownId } from './failures.js';
import { mentions } from './ids.js';
import { RecentIds } from './recent-ids.js';
import type { Answer, IncomingCall, SessionOptions } from './types.js';

/**
 * The calls of the peer: what it may call, the answers, and how many run at once.
 *
 *     called ──callback of a call that runs──▶ answered
 *        ├────granted────────────────────────▶ running ──▶ answered
 *        ├────callback of a call that ended──▶ "callback expired"
 *        └────anything else──────────────────▶ a violation, or an error: what the options say
 */
export class IncomingCalls {
  readonly #options: SessionOptions;
  readonly #callbacks: Callbacks;
  readonly #present: (message: FunctionCall) => IncomingCall;
  readonly #running = new Map<string, FunctionCall>();
  readonly #recent = new RecentIds(REMEMBERED_IDS);
  readonly #room = new Gate();
  #fullSince: number | undefined;
  #ended = false;

  /** `present` shows a message to a function as the call that it is. */
  constructor(options: SessionOptions, callbacks: Callbacks, present: (message: FunctionCall) => IncomingCall) {
    this.#options = options;
    this.#callbacks = callbacks;
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

  isRunning(message: FunctionCall): boolean {
    return this.#running.has(message.id);
  }

  /** Tells whether the parameters of a call that runs have announced this stream. */
  announced(id: string): boolean {
    for (const { params } of this.#running.values()) if (mentions(params, id)) return true;
    return false;
  }

  /** Takes a call. A promise asks that nothing else is handed over before it resolves. Throws for a violation. */
  take(message: FunctionCall): void | Promise<void> {
    const { id, functionName } = message;
    if (this.#recent.has(id) || this.#running.has(id)) throw unknownId('FunctionCall', id, 'used before');
    const callback = this.#callbacks.get(functionName);
    if (callback !== undefined) return this.#callBack(message, callback);
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
      this.#finish(message, answer);
      return;
    }
    return this.#await(message, answer, 'the function failed');
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
    this.#room.open();
  }

  /** Runs a callback. One that answers at once is never seen running, and costs no promise. */
  #callBack(message: FunctionCall, callback: Callback): void | Promise<void> {
    const { id } = message;
    let result: unknown;
    try {
      result = callback(message.params);
    } catch (error) {
      this.#recent.add(id);
      this.#answer(message, functionError(id, messageOfThrown(error, 'the callback failed')));
      return;
    }
    if (!isThenable(result)) {
      this.#recent.add(id);
      this.#answer(message, functionResponse(id, result));
      return;
    }
    this.#running.set(id, message);
    const answer = Promise.resolve(result).then((value: unknown) => ({ ok: true, result: value }) as const);
    return this.#await(message, answer, 'the callback failed');
  }

  #await(message: FunctionCall, answer: Promise<Answer>, otherwise: string): void | Promise<void> {
    answer.then(
      (settled) => this.#finish(message, settled),
      (error: unknown) => this.#finish(message, { ok: false, error: messageOfThrown(error, otherwise) }),
    );
    return this.#crowded();
  }

  #forbidden(message: FunctionCall): void {
    if (this.#options.onForbidden === 'violation') throw notGranted(message.functionName);
    this.#recent.add(message.id);
    const shown = printable(message.functionName, 80);
    this.#answer(message, functionError(message.id, `There is no function ${shown}`));
  }

  #finish(message: FunctionCall, answer: Answer): void {
    const { id } = message;
    if (!this.#running.delete(id)) return;
    this.#recent.add(id);
    if (this.#room.shut && this.#running.size < this.#options.limits.concurrentCallbacks) {
      this.#room.open();
      this.#fullSince = undefined;
    }
    this.#answer(message, answer.ok ? functionResponse(id, answer.result) : functionError(id, answer.error));
  }

  #answer({ id, expectsResponse }: FunctionCall, answer: OutgoingMessage): void {
    if (expectsResponse === false || this.#ended) return;
    const { port } = this.#options;
    try {
      void port.send(answer);
    } catch (error) {
      if (!isSallyportError(error)) throw error;
      if (error.code === 'WIRE_CLOSED') return;
      if (error.code === 'WIRE_BACKLOG') port.broken(backlog(error, 'an answer was'));
      // What cannot be encoded becomes an error that can.
      else if (answer.type === 1) this.#answer({ type: 0, id, functionName: '' }, functionError(id, error.message));
    }
  }

  #crowded(): void | Promise<void> {
    if (this.#running.size < this.#options.limits.concurrentCallbacks) return;
    this.#fullSince ??= this.#options.port.now();
    return this.#room.wait();
  }
}

function isThenable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function';
}

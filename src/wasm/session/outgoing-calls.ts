import { SallyportError } from '../../errors/index.js';
import type { WireValue } from '../../wire/index.js';
import { unknownId } from './failures.js';
import { IdCounter } from './ids.js';
import type { StreamQueue } from './stream-queue.js';

/** A call of this side that waits for its answer. */
export class OutgoingCall {
  readonly id: string;
  readonly functionName: string;
  readonly timeoutMs: number;
  readonly deadline: number;
  readonly resolve: (result: WireValue | undefined) => void;
  readonly reject: (error: unknown) => void;
  /** What its parameters opened: it ends with the call. */
  callbacks: string[] | undefined;
  received: { readonly id: string; readonly queue: StreamQueue }[] | undefined;
  sent: { readonly id: string; readonly iterable: AsyncIterable<unknown> }[] | undefined;
  /** Set once nobody waits for it any more; its answer is still expected. */
  abandoned = false;
  stopListening: (() => void) | undefined;

  constructor(
    { id, functionName, timeoutMs, deadline }: Pick<OutgoingCall, 'id' | 'functionName' | 'timeoutMs' | 'deadline'>,
    resolve: (result: WireValue | undefined) => void,
    reject: (error: unknown) => void,
  ) {
    this.id = id;
    this.functionName = functionName;
    this.timeoutMs = timeoutMs;
    this.deadline = deadline;
    this.resolve = resolve;
    this.reject = reject;
  }
}

/** The calls of this side, by id. */
export class OutgoingCalls {
  readonly #open = new Map<string, OutgoingCall>();
  readonly #ids = new IdCounter('c');

  get size(): number {
    return this.#open.size;
  }

  issue(): string {
    return this.#ids.issue();
  }

  add(call: OutgoingCall): void {
    this.#open.set(call.id, call);
  }

  has(call: OutgoingCall): boolean {
    return this.#open.has(call.id);
  }

  /** Takes a call out of the books: its answer has come. Throws when there is none to be answered. */
  settle(id: string, kind: string): OutgoingCall {
    const call = this.#open.get(id);
    if (call === undefined) {
      throw unknownId(kind, id, this.#ids.issued(id) ? 'answered already, or not to be answered' : 'never issued');
    }
    this.#open.delete(id);
    if (call.stopListening !== undefined) call.stopListening();
    return call;
  }

  /** Finds a call that has taken too long. */
  overdue(now: number): SallyportError | undefined {
    for (const { id, functionName, timeoutMs, deadline } of this.#open.values()) {
      if (deadline > now) continue;
      const message = `the call of ${functionName} took longer than ${timeoutMs} ms`;
      return new SallyportError('WASM_TIMEOUT', message, { function: functionName, call: id, limitMs: timeoutMs });
    }
    return undefined;
  }

  /** When the first of them is due. */
  get nextDeadline(): number {
    let next = Number.POSITIVE_INFINITY;
    for (const { deadline } of this.#open.values()) next = Math.min(next, deadline);
    return next;
  }

  rejectAll(errorFor: (functionName: string) => Error): void {
    for (const call of this.#open.values()) {
      call.stopListening?.();
      call.reject(errorFor(call.functionName));
    }
    this.#open.clear();
  }
}

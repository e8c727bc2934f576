import { SallyportError } from '../../errors/index.js';
import { Gate, printable, type WireValue } from '../../wire/index.js';
import { MAX_ERROR_CHARS, REMEMBERED_DROPPED_STREAMS, type WasmLimits } from '../limits.js';
import { heapCost } from './heap-cost.js';
import type { QueueOwner, StreamQueue } from './stream-queue.js';

/**
 * The streams that a peer sends, by id: routing, the common budget, and who is idle.
 *
 *     open ──the peer ends it──▶ forgotten
 *       └────drop(): nobody is going to read it──▶ dropped: what comes is thrown away ──the peer ends it──▶ forgotten
 */
export class ReceivedStreams implements QueueOwner {
  readonly #limits: WasmLimits;
  readonly #now: () => number;
  readonly #open = new Map<string, StreamQueue>();
  readonly #dropped = new Map<string, StreamQueue>();
  #buffered = 0;
  readonly #space = new Gate();
  #heldSince: number | undefined;

  constructor(limits: WasmLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** How many are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Finds where a message of the peer goes. */
  get(id: string): StreamQueue | undefined {
    return this.#open.get(id) ?? this.#dropped.get(id);
  }

  /** Finds a stream that is open. */
  live(id: string): StreamQueue | undefined {
    return this.#open.get(id);
  }

  /** Expects chunks with this id from now on. */
  open(id: string, queue: StreamQueue): void {
    queue.open(this, this.#now());
    this.#open.set(id, queue);
  }

  /** Forgets a stream that was never announced to the peer. */
  forget(id: string): void {
    this.#open.delete(id);
  }

  /**
   * Says that nobody is going to read what comes. The peer cannot be told, so that it may come, or nothing, for as long as
   * it likes: the stream counts no more as one that is under way.
   */
  drop(id: string): void {
    const queue = this.#open.get(id);
    if (queue === undefined) return;
    this.#open.delete(id);
    this.#dropped.set(id, queue);
    if (this.#dropped.size <= REMEMBERED_DROPPED_STREAMS) return;
    for (const oldest of this.#dropped.keys()) {
      this.#dropped.delete(oldest);
      return;
    }
  }

  /** Takes a chunk of a stream. Returns a promise while too much waits: nothing more may be read until it resolves. */
  chunk(id: string, queue: StreamQueue, chunk: WireValue, bytes: number): void | Promise<void> {
    const cost = heapCost(chunk, bytes);
    queue.touchedAt = this.#now();
    const fate = queue.push(chunk, cost);
    if (fate === 'discarded' && queue.discarded > this.#limits.discardBytes) {
      const message = `the guest sent ${queue.discarded} bytes to stream ${id} after its consumer had stopped`;
      throw new SallyportError('WASM_STREAM_ABANDONED', message, { stream: id, limit: this.#limits.discardBytes });
    }
    if (fate !== 'kept') return;
    this.#buffered += cost;
    if (this.#buffered <= this.#limits.streamBufferBytes) return;
    this.#heldSince ??= this.#now();
    return this.#space.wait();
  }

  end(id: string, queue: StreamQueue): void {
    queue.end();
    this.#close(id);
  }

  error(id: string, queue: StreamQueue, error: string): void {
    const text = printable(error, MAX_ERROR_CHARS);
    queue.fail(new SallyportError('WASM_STREAM_FAILED', text, { stream: id }));
    this.#close(id);
  }

  released(cost: number): void {
    this.#buffered -= cost;
    if (!this.#space.shut || this.#buffered > this.#limits.streamBufferBytes / 2) return;
    this.#heldSince = undefined;
    // The time that the consumer took is not the sender's.
    const now = this.#now();
    for (const queue of this.#open.values()) queue.touchedAt = now;
    this.#space.open();
  }

  /** Ends all with an error, and lets go of whoever waits. */
  closeAll(errorFor: (id: string) => Error): void {
    for (const [id, queue] of this.#open) queue.fail(errorFor(id));
    this.#open.clear();
    this.#dropped.clear();
    this.#heldSince = undefined;
    this.#space.open();
  }

  /** Finds a stream that has been unread or silent for too long. `others` says whether anything else waits. */
  overdue(now: number, others: 'waiting' | 'none'): SallyportError | undefined {
    if (this.#heldSince !== undefined) {
      const { stallMs } = this.#limits;
      if (now - this.#heldSince < stallMs || (others === 'none' && this.#open.size < 2)) return undefined;
      const id = this.#fullest() ?? '?';
      const message = `stream ${id} was not read for ${stallMs} ms and kept everything else of the guest waiting`;
      return new SallyportError('WASM_STREAM_STALLED', message, { stream: id, limitMs: stallMs });
    }
    const { streamIdleMs } = this.#limits;
    for (const [id, queue] of this.#open) {
      if (now - queue.touchedAt < streamIdleMs) continue;
      const message = `stream ${id} brought nothing for ${streamIdleMs} ms`;
      return new SallyportError('WASM_STREAM_IDLE', message, { stream: id, limitMs: streamIdleMs });
    }
    return undefined;
  }

  #close(id: string): void {
    if (!this.#open.delete(id)) this.#dropped.delete(id);
  }

  #fullest(): string | undefined {
    let most: string | undefined;
    let count = 0;
    for (const [id, queue] of this.#open) {
      if (queue.waiting < count) continue;
      most = id;
      count = queue.waiting;
    }
    return most;
  }
}

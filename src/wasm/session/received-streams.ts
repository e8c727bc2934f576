import { SallyportError } from '../../errors/index.js';
import { Gate, printable, type WireValue } from '../../wire/index.js';
import { CONTAINER_COST_BYTES, MAX_ERROR_CHARS, type WasmLimits } from '../limits.js';
import type { QueueOwner, StreamQueue } from './stream-queue.js';

/** The streams that a peer sends, by id: routing, the common budget, and who is idle. */
export class ReceivedStreams implements QueueOwner {
  readonly #limits: WasmLimits;
  readonly #now: () => number;
  readonly #open = new Map<string, StreamQueue>();
  #buffered = 0;
  readonly #space = new Gate();
  #heldSince: number | undefined;

  constructor(limits: WasmLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  get size(): number {
    return this.#open.size;
  }

  has(id: string): boolean {
    return this.#open.has(id);
  }

  get(id: string): StreamQueue | undefined {
    return this.#open.get(id);
  }

  /** Expects chunks with this id from now on. */
  open(id: string, queue: StreamQueue): void {
    queue.owner = this;
    queue.touchedAt = this.#now();
    this.#open.set(id, queue);
  }

  /** Forgets a stream that was never announced to the peer. */
  forget(id: string): void {
    this.#open.delete(id);
  }

  /** Takes a chunk of an open stream. Returns a promise while too much waits: nothing more may be read until it resolves. */
  chunk(id: string, queue: StreamQueue, chunk: WireValue, bytes: number): void | Promise<void> {
    const cost = bytes + overhead(chunk);
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

  end(id: string): void {
    this.#open.get(id)?.end();
    this.#open.delete(id);
  }

  error(id: string, error: string): void {
    const text = printable(error, MAX_ERROR_CHARS);
    this.#open.get(id)?.fail(new SallyportError('WASM_STREAM_FAILED', text, { stream: id }));
    this.#open.delete(id);
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

/** What a chunk costs in the heap beyond its bytes. */
function overhead(value: WireValue): number {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return CONTAINER_COST_BYTES;
  let cost = CONTAINER_COST_BYTES;
  if (Array.isArray(value)) for (const item of value) cost += 8 + (typeof item === 'object' ? overhead(item) : 0);
  else for (const key in value) cost += 8 + (typeof value[key] === 'object' ? overhead(value[key] ?? null) : 0);
  return cost;
}

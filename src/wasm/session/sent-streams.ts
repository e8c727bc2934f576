import { isSallyportError, SallyportError } from '../../errors/index.js';
import type { WasmLimits } from '../limits.js';
import type { OutgoingMessage } from '../messages.js';
import { backlog } from './failures.js';
import { IdCounter } from './ids.js';
import { SentStream } from './sent-stream.js';
import type { SessionPort } from './types.js';

/** The streams that this side sends, by id. */
export class SentStreams {
  readonly #port: SessionPort;
  readonly #limits: WasmLimits;
  readonly #open = new Map<string, SentStream>();
  readonly #ids = new IdCounter('s');

  constructor(port: SessionPort, limits: WasmLimits) {
    this.#port = port;
    this.#limits = limits;
  }

  get size(): number {
    return this.#open.size;
  }

  has(id: string): boolean {
    return this.#open.has(id);
  }

  /** An id for a stream that is announced in parameters, before it is started. */
  issue(): string {
    return this.#ids.issue();
  }

  /** Starts to send. Resolves when all was sent, or given up. */
  start(id: string, iterable: AsyncIterable<unknown>): Promise<void> {
    const stream = new SentStream(id, iterable, {
      send: (message) => this.#send(message),
      now: () => this.#port.now(),
    });
    this.#open.set(id, stream);
    return stream.finished.then(() => {
      this.#open.delete(id);
    });
  }

  /** Ends one that its call does not need any more. */
  stop(id: string, reason: string): void {
    this.#open.get(id)?.stop(reason);
  }

  stopAll(): void {
    for (const stream of this.#open.values()) stream.stop();
    this.#open.clear();
  }

  /** Finds a stream that the peer does not take. */
  overdue(now: number): SallyportError | undefined {
    const { streamIdleMs } = this.#limits;
    for (const [id, { blockedSince }] of this.#open) {
      if (blockedSince === undefined || now - blockedSince < streamIdleMs) continue;
      const message = `the peer took nothing of stream ${id} for ${streamIdleMs} ms`;
      return new SallyportError('WASM_STREAM_IDLE', message, { stream: id, limitMs: streamIdleMs });
    }
    return undefined;
  }

  #send(message: OutgoingMessage): void | Promise<void> {
    try {
      return this.#port.send(message);
    } catch (error) {
      if (isSallyportError(error, 'WIRE_BACKLOG')) this.#port.broken(backlog(error, 'a stream was'));
      throw error;
    }
  }
}

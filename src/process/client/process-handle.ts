import { randomUUID } from 'node:crypto';
import type { TerminalSize } from '../../sandbox/index.js';
import type { SessionEvent } from '../events.js';
import { ExecError } from '../exec-error.js';
import type { StreamName } from '../messages.js';
import { CLIENT_BUFFER_BYTES, CLIENT_BUFFER_EVENTS } from './limits.js';
import type { ExecPeer, ReadOutput } from './peer.js';

/** A piece of output. */
export interface OutputPiece {
  readonly stream: StreamName;
  readonly bytes: Buffer;
}

/** How a process ended. */
export interface ProcessExit {
  /** 128 + signal when a signal ended it. */
  readonly exitCode: number;
  readonly timedOut: boolean;
}

type ProcessEvent = Exclude<SessionEvent, { type: 'bodyDelta' }>;

/** A process on a server. */
export class ProcessHandle implements AsyncDisposable {
  readonly processId: string;
  readonly #peer: ExecPeer;
  readonly #pieces: OutputPiece[] = [];
  readonly #exit: Promise<ProcessExit>;
  #resolveExit: (exit: ProcessExit) => void = () => {};
  #rejectExit: (error: Error) => void = () => {};
  #exited: ProcessExit | undefined;
  #ended = false;
  #ending = false;
  #failure: Error | undefined;
  #lastSeq = 0;
  #buffered = 0;
  #consumer: 'none' | 'reading' | 'discarding' = 'none';
  #wake: (() => void) | undefined;
  #release: (() => void) | undefined;
  /** Events that came while missed output is being fetched. */
  #recovering: ProcessEvent[] | undefined;
  /** Whether an answer is awaited that comes behind those events: then none may be held back. */
  #fetching = false;

  constructor(processId: string, peer: ExecPeer) {
    this.processId = processId;
    this.#peer = peer;
    this.#exit = new Promise((resolve, reject) => {
      this.#resolveExit = resolve;
      this.#rejectExit = reject;
    });
    // Whoever waits hears of a failure; nobody has to wait.
    this.#exit.catch(() => {});
  }

  /** Everything the process writes, in order, up to the last byte. To be read once. */
  get output(): AsyncIterableIterator<Buffer> {
    return this.#bytes();
  }

  /** The same with the name of the stream. */
  async *pieces(): AsyncIterableIterator<OutputPiece> {
    this.#consumer = 'reading';
    try {
      for (;;) {
        const piece = this.#pieces.shift();
        if (piece !== undefined) {
          this.#buffered -= piece.bytes.length;
          if (this.#buffered < CLIENT_BUFFER_BYTES) this.#letGo();
          yield piece;
        } else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#ended) return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      // Whoever stops reading must not hold the process back, nor the answers that come behind its output.
      this.#discard();
    }
  }

  /** Writes to its input. Resolves when the server has it; a process that takes no input refuses. */
  async write(data: Uint8Array | string): Promise<void> {
    const bytes = typeof data === 'string' ? Buffer.from(data) : data;
    const status = await this.#peer.write(this.processId, bytes, randomUUID());
    if (status !== 'accepted') throw new ExecError('invalidRequest', `process ${this.processId}: ${status}`);
  }

  closeStdin(): Promise<void> {
    return this.#peer.closeStdin(this.processId);
  }

  resize(size: TerminalSize): Promise<void> {
    return this.#peer.resize(this.processId, size);
  }

  /** Sends a signal to the process and all it started: `interrupt`, or a name such as `SIGHUP`. */
  signal(signal: string): Promise<void> {
    return this.#peer.signal(this.processId, signal);
  }

  /**
   * Ends it, at once or with `graceMs` to comply with SIGTERM. Tells whether it was running. From here on output waits for
   * no reader: what does not fit the buffer is dropped, because the answer comes behind it.
   */
  terminate(options: { readonly graceMs?: number } = {}): Promise<boolean> {
    this.#ending = true;
    this.#letGo();
    return this.#peer.terminate(this.processId, options.graceMs ?? 0);
  }

  /** Waits for the exit. Output that nobody reads is dropped meanwhile, so that the process cannot get stuck on it. */
  wait(): Promise<ProcessExit> {
    if (this.#consumer === 'none') this.#discard();
    return this.#exit;
  }

  /** Reads everything and waits for the end. */
  async collect(): Promise<ProcessExit & { readonly stdout: Buffer; readonly stderr: Buffer }> {
    const out: Buffer[] = [];
    const err: Buffer[] = [];
    for await (const { stream, bytes } of this.pieces()) (stream === 'stderr' ? err : out).push(bytes);
    return { ...(await this.#exit), stdout: Buffer.concat(out), stderr: Buffer.concat(err) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminate();
  }

  /** Takes an event of this process; for the client only. */
  take(event: ProcessEvent): void | Promise<void> {
    if (this.#recovering === undefined) return this.#apply(event);
    this.#recovering.push(event);
    if (!this.#fetching && this.#recovering.length >= CLIENT_BUFFER_EVENTS) return this.#untilLetGo();
  }

  #apply(event: ProcessEvent): void | Promise<void> {
    // Numbers tell what was seen already; servers of the first dialect send none.
    if (event.seq > 0 && event.seq <= this.#lastSeq) return;
    if (this.#peer.dialect === 'later') this.#lastSeq = Math.max(this.#lastSeq, event.seq);
    if (event.type === 'exited') {
      this.#exited ??= { exitCode: event.exitCode, timedOut: event.timedOut };
      this.#resolveExit(this.#exited);
      if (this.#peer.dialect === 'first') this.#end();
      return;
    }
    if (event.type === 'closed') return this.#end();
    if (this.#consumer === 'discarding' || (this.#ending && this.#buffered >= CLIENT_BUFFER_BYTES)) return;
    this.#pieces.push({ stream: event.stream, bytes: event.bytes });
    this.#buffered += event.bytes.length;
    this.#notify();
    if (this.#buffered < CLIENT_BUFFER_BYTES || this.#ending) return;
    return this.#untilLetGo();
  }

  /** Whether nothing more will come. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Holds events back until `recover` has fetched what was missed; for the client only. */
  hold(): void {
    this.#recovering ??= [];
  }

  /** Fetches what was missed while the connection was down; for the client only. */
  async recover(): Promise<void> {
    this.hold();
    const { processId } = this;
    try {
      let missed: ReadOutput;
      do {
        missed = await this.#fetch(() => this.#peer.read(processId, this.#lastSeq, CLIENT_BUFFER_BYTES));
        if (missed.firstSeq !== undefined) throw new ExecError('internal', 'output was lost with the connection');
        for (const chunk of missed.chunks) await this.#apply({ type: 'output', processId, ...chunk });
        // An exit has a number too, so the next one follows the last chunk when there may be more chunks.
      } while (missed.nextSeq === (missed.chunks.at(-1)?.seq ?? Number.NaN) + 1);
      if (missed.exited && this.#exited === undefined) {
        const timedOut = await this.#fetch(() => this.#peer.timedOut(processId));
        this.#exited = { exitCode: missed.exitCode ?? 0, timedOut };
        this.#resolveExit(this.#exited);
      }
      // What comes meanwhile is newer than all that was missed, and waits until it is its turn.
      for (let event = this.#recovering?.shift(); event !== undefined; event = this.#recovering?.shift()) {
        await this.#apply(event);
      }
      this.#recovering = undefined;
      if (this.#buffered < CLIENT_BUFFER_BYTES) this.#letGo();
      if (missed.closed) this.#end();
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  async #fetch<Result>(ask: () => Promise<Result>): Promise<Result> {
    this.#fetching = true;
    this.#letGo();
    try {
      return await ask();
    } finally {
      this.#fetching = false;
    }
  }

  /** Says that nothing more can be known; for the client only. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#failure = error;
    this.#rejectExit(error);
    this.#end();
  }

  async *#bytes(): AsyncIterableIterator<Buffer> {
    for await (const { bytes } of this.pieces()) yield bytes;
  }

  #discard(): void {
    this.#consumer = 'discarding';
    this.#pieces.length = 0;
    this.#buffered = 0;
    this.#letGo();
  }

  #end(): void {
    this.#ended = true;
    this.#notify();
    this.#letGo();
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #untilLetGo(): Promise<void> {
    return new Promise((resolve) => {
      const earlier = this.#release;
      this.#release = () => {
        earlier?.();
        resolve();
      };
    });
  }

  #letGo(): void {
    this.#release?.();
    this.#release = undefined;
  }
}

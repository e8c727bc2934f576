import { randomUUID } from 'node:crypto';
import type { TerminalSize } from '../../sandbox/index.js';
import type { SessionEvent } from '../events.js';
import { ExecError } from '../exec-error.js';
import type { StreamName } from '../messages.js';
import { CLIENT_BUFFER_BYTES } from './limits.js';
import type { ExecPeer } from './peer.js';

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
  #failure: Error | undefined;
  #lastSeq = 0;
  #buffered = 0;
  #consumer: 'none' | 'reading' | 'discarding' = 'none';
  #wake: (() => void) | undefined;
  #release: (() => void) | undefined;
  /** Events that came while missed output is being fetched. */
  #recovering: ProcessEvent[] | undefined;

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

  /** Ends it, at once or with `graceMs` to comply with SIGTERM. Tells whether it was running. */
  terminate(options: { readonly graceMs?: number } = {}): Promise<boolean> {
    return this.#peer.terminate(this.processId, options.graceMs ?? 0);
  }

  /** Waits for the exit. Output that nobody reads is dropped meanwhile, so that the process cannot get stuck on it. */
  wait(): Promise<ProcessExit> {
    if (this.#consumer === 'none') {
      this.#consumer = 'discarding';
      this.#letGo();
    }
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
    if (this.#recovering !== undefined) {
      this.#recovering.push(event);
      return;
    }
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
    if (this.#consumer === 'discarding') return;
    this.#pieces.push({ stream: event.stream, bytes: event.bytes });
    this.#buffered += event.bytes.length;
    this.#notify();
    if (this.#buffered < CLIENT_BUFFER_BYTES) return;
    return new Promise((resolve) => {
      const earlier = this.#release;
      this.#release = () => {
        earlier?.();
        resolve();
      };
    });
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
    try {
      for (;;) {
        const missed = await this.#peer.read(this.processId, this.#lastSeq, CLIENT_BUFFER_BYTES);
        const later = this.#recovering ?? [];
        this.#recovering = undefined;
        const { processId } = this;
        if (missed.firstSeq !== undefined) throw new ExecError('internal', 'output was lost with the connection');
        for (const chunk of missed.chunks) await this.take({ type: 'output', processId, ...chunk });
        const last = missed.chunks.at(-1)?.seq;
        if (last !== undefined && missed.nextSeq === last + 1 && !missed.exited) {
          this.#recovering = later;
          continue;
        }
        if (missed.exited && this.#exited === undefined) {
          this.#exited = { exitCode: missed.exitCode ?? 0, timedOut: false };
          this.#resolveExit(this.#exited);
        }
        for (const event of later) await this.take(event);
        if (missed.closed) this.#end();
        return;
      }
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
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

  #end(): void {
    this.#ended = true;
    this.#notify();
    this.#letGo();
  }

  #notify(): void {
    this.#wake?.();
    this.#wake = undefined;
  }

  #letGo(): void {
    this.#release?.();
    this.#release = undefined;
  }
}

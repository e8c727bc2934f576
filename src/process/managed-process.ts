import { constants } from 'node:os';
import { isSallyportError } from '../errors/index.js';
import type { OutputStream, SpawnedProcess, TerminalSize } from '../sandbox/index.js';
import type { SessionEvent } from './events.js';
import { ExecError } from './exec-error.js';
import type { ProcessLimits } from './limits.js';
import type { StreamName } from './messages.js';
import { type RetainedChunk, Retention } from './retention.js';

/** The exit as the protocol reports it: 128 + signal for a process that a signal ended. */
export function protocolExitCode(exitCode: number | null, signal: NodeJS.Signals | null): number {
  return exitCode ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}

export interface ManagedProcessOptions {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly child: SpawnedProcess;
  readonly limits: ProcessLimits;
  readonly maxChunkBytes: number;
  /** Whether exit and close take numbers of their own (the later dialect) or only output does. */
  readonly numbering: 'output' | 'all';
  readonly publish: (process: ManagedProcess, event: SessionEvent) => void;
  readonly onClosed: (process: ManagedProcess) => void;
}

export interface ReadResult {
  readonly chunks: readonly RetainedChunk[];
  readonly nextSeq: number;
  readonly exited: boolean;
  readonly exitCode: number | null;
  readonly closed: boolean;
  readonly timedOut: boolean;
  readonly firstSeq: number | undefined;
}

/**
 * One process of a session: its numbering, what is kept of its output, and who waits for it.
 *
 *     started ──begin()──▶ running ──▶ exited (all it wrote itself was published) ──▶ closed (nobody else can write)
 *
 * Nothing is read from the child before `begin`, so nothing is published before the start was answered.
 */
export class ManagedProcess {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly child: SpawnedProcess;
  /** Events that could not be delivered yet. */
  readonly outbox: SessionEvent[] = [];
  outboxBytes = 0;
  readonly #options: Omit<ManagedProcessOptions, 'argv'>;
  readonly #retention: Retention;
  readonly #writeIds = new Set<string>();
  readonly #waiters = new Set<() => void>();
  #seq = 0;
  #alive = true;
  #paused = false;
  #stdin: 'open' | 'closed';
  #exit: { readonly exitCode: number; readonly timedOut: boolean; readonly seq: number } | undefined;
  #closed = false;

  constructor(options: ManagedProcessOptions) {
    const { argv, ...rest } = options;
    this.#options = rest;
    this.processId = options.processId;
    this.argv = shownArgv(argv, options.limits.listedArgvBytes);
    this.tty = options.tty;
    this.child = options.child;
    this.#stdin = options.child.input === undefined ? 'closed' : 'open';
    const { retainedBytes, retainedChunks } = options.limits;
    this.#retention = new Retention({ maxBytes: retainedBytes, maxChunks: retainedChunks });
  }

  /** Whether the process itself still runs, whatever its output is doing. */
  get running(): boolean {
    return this.#alive;
  }

  get exited(): boolean {
    return this.#exit !== undefined;
  }

  get exitCode(): number | null {
    return this.#exit?.exitCode ?? null;
  }

  get closed(): boolean {
    return this.#closed;
  }

  get retainedBytes(): number {
    return this.#retention.bytes;
  }

  /** Starts to read the output and to watch for the end. */
  begin(): void {
    const { child } = this;
    for (const output of child.outputs) {
      const stream = streamName(output);
      output.onData((bytes) => this.#onOutput(stream, bytes));
      if (this.#paused) output.pause();
    }
    void child.exited.then(async (status) => {
      this.#alive = false;
      await child.drained;
      const exitCode = protocolExitCode(status.exitCode, status.signal);
      const seq = this.#eventSeq();
      this.#exit = { exitCode, timedOut: status.timedOut, seq };
      const { processId } = this;
      this.#options.publish(this, { type: 'exited', processId, seq, exitCode, timedOut: status.timedOut });
      this.#wake();
      await child.closed;
      this.#closed = true;
      this.#stdin = 'closed';
      this.#options.publish(this, { type: 'closed', processId, seq: this.#eventSeq() });
      this.#options.onClosed(this);
      this.#wake();
    });
  }

  /** Stops reading: the pipe fills up, and then the child waits. */
  pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    for (const output of this.child.outputs) output.pause();
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    for (const output of this.child.outputs) output.resume();
  }

  read(afterSeq: number, maxBytes: number): ReadResult {
    const { chunks, partial, firstSeq } = this.#retention.after(afterSeq, maxBytes);
    const last = chunks.at(-1);
    return {
      chunks,
      nextSeq: partial && last !== undefined ? last.seq + 1 : this.#seq + 1,
      exited: this.exited,
      exitCode: this.exitCode,
      closed: this.#closed,
      timedOut: this.#exit?.timedOut ?? false,
      firstSeq,
    };
  }

  /** Whether a read after this number has anything to say, or never will. */
  hasNews(afterSeq: number): boolean {
    if (this.#closed || this.#retention.hasAfter(afterSeq)) return true;
    if (this.#exit === undefined) return false;
    return this.#options.numbering === 'output' || this.#exit.seq > afterSeq;
  }

  /** Calls back once at the next output, exit or close. */
  onChange(callback: () => void): () => void {
    this.#waiters.add(callback);
    return () => this.#waiters.delete(callback);
  }

  /** Hands bytes to the child. Answers as soon as they are queued; a repeated `writeId` is acknowledged only. */
  async write(bytes: Buffer, writeId: string | undefined): Promise<'accepted' | 'stdinClosed'> {
    if (writeId !== undefined && this.#writeIds.has(writeId)) return 'accepted';
    const { input } = this.child;
    if (input === undefined || this.#stdin === 'closed' || !this.#alive) return 'stdinClosed';
    if (writeId !== undefined) this.#remember(writeId);
    // A refusal is known at once; a child that is slow to read is nobody's reason to wait for the answer.
    const outcome = await new Promise<'accepted' | 'stdinClosed' | ExecError>((resolve) => {
      const queued = setImmediate(resolve, 'accepted');
      input.write(bytes).then(
        () => {
          clearImmediate(queued);
          resolve('accepted');
        },
        (error: unknown) => {
          clearImmediate(queued);
          const full = isSallyportError(error, 'SPAWN_INPUT_BACKLOG');
          resolve(full ? new ExecError('invalidRequest', error.message) : 'stdinClosed');
        },
      );
    });
    if (outcome === 'accepted') return outcome;
    if (writeId !== undefined) this.#writeIds.delete(writeId);
    if (outcome instanceof ExecError) throw outcome;
    return outcome;
  }

  /** Ends the input: closes a pipe, types the end-of-file character into a terminal. */
  closeStdin(): void {
    if (this.#stdin === 'closed') return;
    if (!this.tty) this.#stdin = 'closed';
    this.child.input?.end().catch(() => {});
  }

  resize(size: TerminalSize): void {
    if (!this.tty) throw new ExecError('invalidRequest', `process ${this.processId} has no terminal to resize`);
    if (this.#alive) this.child.resize(size);
  }

  /** Gives up what is kept of the output. */
  forget(): void {
    this.#retention.clear();
    this.#wake();
  }

  #onOutput(stream: StreamName, bytes: Buffer): void {
    const { maxChunkBytes, publish } = this.#options;
    const { processId } = this;
    for (let at = 0; at < bytes.length; at += maxChunkBytes) {
      const piece = bytes.length <= maxChunkBytes ? bytes : bytes.subarray(at, at + maxChunkBytes);
      this.#seq += 1;
      this.#retention.push({ seq: this.#seq, stream, bytes: piece });
      publish(this, { type: 'output', processId, seq: this.#seq, stream, bytes: piece });
    }
    this.#wake();
  }

  #eventSeq(): number {
    if (this.#options.numbering === 'all') this.#seq += 1;
    return this.#seq;
  }

  #remember(writeId: string): void {
    this.#writeIds.add(writeId);
    if (this.#writeIds.size <= this.#options.limits.writeIds) return;
    const oldest = this.#writeIds.values().next().value;
    if (oldest !== undefined) this.#writeIds.delete(oldest);
  }

  #wake(): void {
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) waiter();
  }
}

/** As much of the arguments as is kept to be listed. */
function shownArgv(argv: readonly string[], most: number): readonly string[] {
  const shown: string[] = [];
  let left = most;
  for (const argument of argv) {
    // An argument takes some space itself, also an empty one.
    left -= ARGUMENT_BYTES;
    if (left <= 0) break;
    shown.push(argument.length <= left ? argument : `${copied(argument.slice(0, left))}…`);
    left -= argument.length;
  }
  if (shown.length < argv.length) shown.push('…');
  return shown;
}

const ARGUMENT_BYTES = 16;

/** A text of its own: a part of another keeps all of it in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString();
}

function streamName(output: OutputStream): StreamName {
  return output.name === 'pty' || output.name === 'stderr' ? output.name : 'stdout';
}

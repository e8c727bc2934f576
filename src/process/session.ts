import { randomUUID } from 'node:crypto';
import type { SpawnedProcess } from '../sandbox/index.js';
import type { Clock } from '../wire/index.js';
import type { SessionEvent, SessionSink } from './events.js';
import { FileHandles } from './fs/handles.js';
import type { ProcessLimits } from './limits.js';
import type { ManagedProcess } from './managed-process.js';
import type { Dialect } from './messages.js';
import { Turns } from './turns.js';

export interface SessionOptions {
  readonly dialect: Dialect;
  readonly limits: ProcessLimits;
  readonly clock: Clock;
  /** Who may resume it. */
  readonly principal: string;
  /** Largest piece of output in one event. */
  readonly maxChunkBytes: number;
}

/**
 * What belongs to one client: processes, file handles, requests under way. It may outlive a connection.
 *
 *     attached ⇄ attached and held back (the client is slow: children wait)
 *        └──detach()──▶ detached (output is kept until the retention is full, then children wait) ──attach()──▶ attached
 *     any ──dispose()──▶ gone, and every process with it
 */
export class Session {
  readonly id: string = randomUUID();
  readonly dialect: Dialect;
  readonly principal: string;
  readonly maxChunkBytes: number;
  readonly files: FileHandles;
  /** What of `fs/*` is under way, and how much of that is content. */
  readonly fileRequests: Turns;
  readonly fileBytes: Turns;
  /** Names that a start is under way for, or that a process bears. */
  readonly processes = new Map<string, ManagedProcess | 'starting'>();
  /** Those of them that may have something to send. Closed ones are kept for questions by the hundred, and must not slow these down. */
  readonly #talking = new Set<ManagedProcess>();
  /** Ends with the connection: what nobody can be told any more is not worth finishing. */
  #connection = new AbortController();
  readonly #limits: ProcessLimits;
  readonly #clock: Clock;
  readonly #closed = new Map<ManagedProcess, unknown>();
  /** Children whose record is gone but who may have left somebody behind. */
  readonly #leftovers = new Set<SpawnedProcess>();
  readonly #starting = new Map<string, Promise<unknown>>();
  readonly #httpRequests = new Set<string>();
  #sink: SessionSink | undefined;
  #blocked = false;
  #waiting: (() => void)[] = [];
  #disposed: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    this.dialect = options.dialect;
    this.principal = options.principal;
    this.maxChunkBytes = options.maxChunkBytes;
    this.#limits = options.limits;
    this.#clock = options.clock;
    this.files = new FileHandles(options.limits);
    this.fileRequests = new Turns(options.limits.fileRequests);
    this.fileBytes = new Turns(options.limits.fileBytes);
  }

  /** Whether it ended while its connection stayed. */
  get disposed(): boolean {
    return this.#disposed !== undefined;
  }

  /** Aborted when the connection that is attached now goes away. */
  get connectionSignal(): AbortSignal {
    return this.#connection.signal;
  }

  /** The ids of HTTP requests under way. */
  get httpRequests(): Set<string> {
    return this.#httpRequests;
  }

  /** Processes that are not closed, or whose end could not be sent yet; those being started included. */
  get openProcesses(): number {
    let count = 0;
    for (const process of this.processes.values()) {
      if (process === 'starting' || !process.closed || process.outbox.length > 0) count += 1;
    }
    return count;
  }

  /** Sends events here from now on, first those that nobody was sent yet. */
  attach(sink: SessionSink): void {
    this.#sink = sink;
    this.#connection = new AbortController();
    this.ready();
  }

  detach(): void {
    this.#sink = undefined;
    this.#blocked = false;
    this.#connection.abort();
    this.#release();
    for (const process of this.#talking) if (process.outboxBytes < this.#limits.retainedBytes) process.resume();
  }

  /** Says that the sink takes more. */
  ready(): void {
    if (this.#sink === undefined) return;
    this.#blocked = false;
    for (const process of this.#talking) {
      this.#flush(process);
      if (this.#blocked) return;
    }
    for (const process of this.#talking) process.resume();
    this.#release();
  }

  /** Says that the sink takes no more before `ready()`, for another reason than an event. */
  hold(): void {
    if (this.#sink !== undefined) this.#block();
  }

  /** Resolves when the sink takes more, or when nobody listens any more. */
  whenReady(): Promise<void> {
    if (!this.#blocked || this.#sink === undefined) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Sends an event that belongs to no process, if anybody listens. */
  send(event: SessionEvent): void {
    if (this.#sink?.deliver(event) === 'wait') this.#block();
  }

  /** Sends an event of a process now, or keeps it for later. */
  readonly publish = (process: ManagedProcess, event: SessionEvent): void => {
    // In the first dialect the exit is the last word: what others write afterwards can be read, but is not announced.
    if (this.dialect === 'first' && (event.type === 'closed' || (event.type === 'output' && process.exited))) return;
    if (this.#sink === undefined || this.#blocked || process.outbox.length > 0) {
      process.outbox.push(event);
      process.outboxBytes += cost(event);
      if (this.#sink !== undefined || process.outboxBytes >= this.#limits.retainedBytes) process.pause();
      return;
    }
    if (this.#sink.deliver(event) === 'wait') this.#block();
  };

  /** Adds a process under the name that was reserved for it. */
  add(process: ManagedProcess): void {
    this.processes.set(process.processId, process);
    this.#talking.add(process);
    if (this.#blocked && this.#sink !== undefined) process.pause();
  }

  /** Keeps a closed process for a while, so that it can be asked about. */
  readonly retire = (process: ManagedProcess): void => {
    if (this.#disposed !== undefined) return;
    if (process.outbox.length === 0) this.#talking.delete(process);
    this.#evictLater(process);
    let bytes = 0;
    for (const closed of this.#closed.keys()) bytes += closed.retainedBytes;
    for (const oldest of this.#closed.keys()) {
      if (this.#closed.size <= this.#limits.retainedClosed && bytes <= this.#limits.retainedClosedBytes) break;
      // What was never sent is not given up for the sake of memory: it is bounded already.
      if (oldest.outbox.length > 0) continue;
      bytes -= oldest.retainedBytes;
      if (this.#closed.size > this.#limits.retainedClosed) this.#evict(oldest);
      else oldest.forget();
    }
  };

  /** Notes a start under way, so that others can wait for it. */
  track<Result>(processId: string, start: Promise<Result>): Promise<Result> {
    const settled = start.then(ignore, ignore);
    this.#starting.set(processId, settled);
    void settled.then(() => this.#starting.delete(processId));
    return start;
  }

  /** Resolves when a start under way has come to an end, either way. */
  async started(processId: string): Promise<void> {
    await this.#starting.get(processId);
  }

  /** Ends every process and everything they started. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  async #end(): Promise<void> {
    this.#sink = undefined;
    this.#connection.abort();
    this.#release();
    for (const timer of this.#closed.values()) this.#clock.clearTimeout(timer);
    const ending = [...this.#managed()].map((process) => process.child[Symbol.asyncDispose]());
    for (const child of this.#leftovers) ending.push(child[Symbol.asyncDispose]());
    await Promise.all(
      [...ending, this.files.closeAll(), ...this.#starting.values()].map((task) => task.then(ignore, ignore)),
    );
    // A start that was under way has added its process meanwhile.
    await Promise.all([...this.#managed()].map((process) => process.child[Symbol.asyncDispose]()));
    this.processes.clear();
    this.#talking.clear();
    this.#closed.clear();
    this.#leftovers.clear();
  }

  *#managed(): Iterable<ManagedProcess> {
    for (const process of this.processes.values()) if (process !== 'starting') yield process;
  }

  #flush(process: ManagedProcess): void {
    const { outbox } = process;
    let sent = 0;
    while (sent < outbox.length && !this.#blocked && this.#sink !== undefined) {
      const event = outbox[sent]!;
      sent += 1;
      process.outboxBytes -= cost(event);
      if (this.#sink.deliver(event) === 'wait') this.#blocked = true;
    }
    outbox.splice(0, sent);
    if (process.closed && outbox.length === 0) this.#talking.delete(process);
  }

  #block(): void {
    this.#blocked = true;
    for (const process of this.#talking) process.pause();
  }

  #release(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resume of waiting) resume();
  }

  #evictLater(process: ManagedProcess): void {
    const evict = (): void => {
      // A client that is slow must still hear of the end.
      if (process.outbox.length > 0) this.#evictLater(process);
      else this.#evict(process);
    };
    this.#closed.set(process, this.#clock.setTimeout(evict, this.#limits.retentionMs));
  }

  #evict(process: ManagedProcess): void {
    this.#clock.clearTimeout(this.#closed.get(process));
    this.#closed.delete(process);
    this.#talking.delete(process);
    if (this.processes.get(process.processId) === process) this.processes.delete(process.processId);
    this.#leftovers.add(process.child);
    for (const child of this.#leftovers) if (child.vacated) this.#leftovers.delete(child);
  }
}

/** What an event that waits takes up besides its bytes, about: a process may write single ones. */
const EVENT_BYTES = 256;

function cost(event: SessionEvent): number {
  return EVENT_BYTES + (event.type === 'output' ? event.bytes.length : 0);
}

function ignore(): void {}

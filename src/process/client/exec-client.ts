import { randomUUID } from 'node:crypto';
import { SallyportError } from '../../errors/index.js';
import type { TerminalSize } from '../../sandbox/index.js';
import { openWebSocket, type Transport, webSocketTransport } from '../../wire/index.js';
import type { EnvPolicy } from '../env-policy.js';
import type { EnvironmentInfo } from '../environment.js';
import type { SessionEvent } from '../events.js';
import { ExecError } from '../exec-error.js';
import type { ExecServer } from '../exec-server.js';
import { DEFAULT_SIZE, type ExecHandler, type ProcessSummary } from '../handler.js';
import type { Dialect, HttpHeader } from '../messages.js';
import { CLIENT_BUFFER_EVENTS } from './limits.js';
import { localPeer } from './local-peer.js';
import type { ExecPeer, FileAccess, PeerEvents, ReadOutput } from './peer.js';
import { ProcessHandle } from './process-handle.js';
import { remotePeer } from './remote-peer.js';
import { type ServerCommand, spawnLocalExecServer } from './spawn-local.js';

export interface ExecClientOptions {
  /** What the client calls itself in the handshake. */
  readonly clientName?: string;
  /** How long the server may take to answer `initialize`. */
  readonly handshakeTimeoutMs?: number;
}

export interface WebSocketClientOptions extends ExecClientOptions {
  /** Sent as a bearer token. */
  readonly token?: string;
  readonly connectTimeoutMs?: number;
  /** How long a lost session is tried to be resumed; 0 for never. */
  readonly resumeTimeoutMs?: number;
}

export interface StartOptions {
  /** A name of its own choosing, unless given. */
  readonly processId?: string;
  readonly argv: readonly string[];
  /** An absolute native path on the server's machine. */
  readonly cwd: string;
  /** Exactly the environment of the process; nothing is inherited unless `envPolicy` says so. */
  readonly env?: Readonly<Record<string, string>>;
  readonly envPolicy?: EnvPolicy;
  /** Where standard streams lead. Default: pipes without input. */
  readonly stdio?: 'pipes' | 'pipes-with-stdin' | ({ readonly kind: 'terminal' } & Partial<TerminalSize>);
  readonly arg0?: string;
  readonly timeoutMs?: number;
}

export interface HttpOptions {
  readonly method?: string;
  readonly headers?: readonly HttpHeader[];
  readonly body?: Uint8Array;
  readonly timeoutMs?: number;
  readonly redirectPolicy?: 'follow' | 'stop';
}

type ProcessEvent = Exclude<SessionEvent, { type: 'bodyDelta' }>;

const DEFAULT_NAME = 'sallyport';

/** A client of the process protocol, over whatever transport, or of a handler in the same process. */
export class ExecClient implements AsyncDisposable {
  readonly #handles = new Map<string, ProcessHandle>();
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  readonly #closeListeners = new Set<(reason: Error | undefined) => void>();
  readonly #starting = new Set<string>();
  #peer!: ExecPeer;
  #closed: { readonly reason: Error | undefined } | undefined;
  /** Processes other than ours are nobody's; events of a start that is not answered yet wait for its handle. */
  #early: ProcessEvent[] = [];

  private constructor() {}

  /** Starts a server as a child and speaks over its standard streams. The child ends with the client. */
  static async connectStdio(command: ServerCommand, options: ExecClientOptions = {}): Promise<ExecClient> {
    return ExecClient.connect(spawnLocalExecServer(command).transport, options);
  }

  /** Connects to a server that listens, and resumes the session by itself when the connection is lost. */
  static async connectWebSocket(url: string, options: WebSocketClientOptions = {}): Promise<ExecClient> {
    const open = async (): Promise<Transport<unknown, unknown>> =>
      webSocketTransport(await openWebSocket(url, options));
    return ExecClient.#make(async (events) => remotePeer(await open(), open, named(options), events));
  }

  /** Calls the handler of a server in this process. Nothing is encoded, nothing is copied. */
  static connectInProcess(server: ExecServer | ExecHandler): Promise<ExecClient> {
    const handler = 'handler' in server ? server.handler : server;
    return ExecClient.#make(async (events) => localPeer(handler, events));
  }

  /** Speaks over a transport that is open already, and owns it from now on. */
  static connect(transport: Transport<unknown, unknown>, options: ExecClientOptions = {}): Promise<ExecClient> {
    return ExecClient.#make((events) => remotePeer(transport, undefined, named(options), events));
  }

  static async #make(connect: (events: PeerEvents) => Promise<ExecPeer>): Promise<ExecClient> {
    const client = new ExecClient();
    client.#peer = await connect({
      onEvent: (event) => client.#onEvent(event),
      onResumed: () => client.#onResumed(),
      onClosed: (reason) => client.#onClosed(reason),
    });
    return client;
  }

  /** Which dialect the server speaks. */
  get dialect(): Dialect {
    return this.#peer.dialect;
  }

  get sessionId(): string | undefined {
    return this.#peer.sessionId;
  }

  /** Files on the server's machine. */
  get fs(): FileAccess {
    return this.#peer.fs;
  }

  /** Starts a process. */
  async start(options: StartOptions): Promise<ProcessHandle> {
    const { argv, cwd, arg0, timeoutMs, envPolicy, stdio = 'pipes' } = options;
    if (this.#closed !== undefined) throw lost(this.#closed.reason);
    const processId = options.processId ?? randomUUID();
    if (this.#handles.has(processId) || this.#starting.has(processId)) {
      throw new ExecError('invalidRequest', `process ${processId} already exists`);
    }
    this.#starting.add(processId);
    try {
      await this.#peer.start({
        processId,
        argv,
        cwd,
        env: options.env ?? {},
        tty: typeof stdio === 'object',
        pipeStdin: stdio === 'pipes-with-stdin',
        ...(typeof stdio === 'object'
          ? { size: { rows: stdio.rows ?? DEFAULT_SIZE.rows, cols: stdio.cols ?? DEFAULT_SIZE.cols } }
          : {}),
        arg0,
        timeoutMs,
        envPolicy,
      });
    } catch (error) {
      this.#takeEarly(processId);
      throw error;
    } finally {
      this.#starting.delete(processId);
    }
    const handle = new ProcessHandle(processId, this.#peer);
    this.#handles.set(processId, handle);
    for (const event of this.#takeEarly(processId)) this.#deliver(handle, event);
    if (this.#end !== undefined) handle.fail(lost(this.#end.reason));
    this.#peer.begin(processId);
    return handle;
  }

  /** How it ended, if it has; asked anew after every wait. */
  get #end(): { readonly reason: Error | undefined } | undefined {
    return this.#closed;
  }

  /** Reads what the server keeps of a process's output. */
  read(processId: string, afterSeq = 0, maxBytes?: number, waitMs?: number): Promise<ReadOutput> {
    return this.#peer.read(processId, afterSeq, maxBytes, waitMs);
  }

  list(): Promise<readonly ProcessSummary[]> {
    return this.#peer.list();
  }

  environmentInfo(): Promise<EnvironmentInfo> {
    return this.#peer.environmentInfo();
  }

  /** Has the server send an HTTP request, and returns the whole response. */
  httpRequest(url: string, options: HttpOptions = {}) {
    const { method = 'GET', headers = [], body, timeoutMs, redirectPolicy = 'follow' } = options;
    return this.#peer.httpRequest({
      method,
      url,
      headers,
      body: body === undefined ? undefined : Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      timeoutMs,
      redirectPolicy,
      requestId: randomUUID(),
      streaming: 'whole',
    });
  }

  /** Calls back for every event. The returned function ends that. */
  onEvent(listener: (event: SessionEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls back once when the client is closed, with the reason when it was not asked to. */
  onClose(listener: (reason: Error | undefined) => void): () => void {
    const closed = this.#closed;
    if (closed === undefined) this.#closeListeners.add(listener);
    else queueMicrotask(() => listener(closed.reason));
    return () => this.#closeListeners.delete(listener);
  }

  /** Every event from now on, until the client is closed. Slow readers lose the oldest events, never a process its output. */
  async *events(): AsyncIterableIterator<SessionEvent> {
    const queue: SessionEvent[] = [];
    let wake = (): void => {};
    const unsubscribe = this.onEvent((event) => {
      queue.push(event);
      if (queue.length > CLIENT_BUFFER_EVENTS) queue.shift();
      wake();
    });
    const forget = this.onClose(() => wake());
    try {
      for (;;) {
        const event = queue.shift();
        if (event !== undefined) yield event;
        else if (this.#closed !== undefined) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      }
    } finally {
      unsubscribe();
      forget();
    }
  }

  /** Ends its processes, then the connection. */
  async close(): Promise<void> {
    // A server of the later dialect would keep them for a while, in case that the client comes back.
    const ending = [...this.#handles.values()].map((handle) => handle.terminate().catch(() => false));
    if (this.#closed === undefined) await Promise.all(ending);
    await this.#peer.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #onEvent(event: SessionEvent): void | Promise<void> {
    for (const listener of this.#listeners) listener(event);
    if (event.type === 'bodyDelta') return;
    const handle = this.#handles.get(event.processId);
    if (handle !== undefined) return this.#deliver(handle, event);
    if (!this.#starting.has(event.processId)) return;
    // Waiting for the reader is no way out: the answer to the start comes behind it.
    if (this.#early.length >= CLIENT_BUFFER_EVENTS) {
      throw new SallyportError(
        'PROCESS_PROTOCOL',
        'the server announces a process without end before it has started it',
      );
    }
    this.#early.push(event);
  }

  #takeEarly(processId: string): ProcessEvent[] {
    const early = this.#early;
    this.#early = early.filter((event) => event.processId !== processId);
    return early.filter((event) => event.processId === processId);
  }

  #deliver(handle: ProcessHandle, event: ProcessEvent): void | Promise<void> {
    const held = handle.take(event);
    if (handle.ended) this.#handles.delete(handle.processId);
    return held;
  }

  #onResumed(): void {
    for (const handle of this.#handles.values()) handle.hold();
    for (const handle of [...this.#handles.values()]) {
      void handle.recover().then(() => {
        if (handle.ended) this.#handles.delete(handle.processId);
      });
    }
  }

  #onClosed(reason: Error | undefined): void {
    if (this.#closed !== undefined) return;
    this.#closed = { reason };
    for (const handle of this.#handles.values()) handle.fail(lost(reason));
    this.#handles.clear();
    for (const listener of this.#closeListeners) listener(reason);
    this.#closeListeners.clear();
  }
}

function named(options: ExecClientOptions & { readonly resumeTimeoutMs?: number }) {
  const { clientName = DEFAULT_NAME, handshakeTimeoutMs, resumeTimeoutMs } = options;
  return { clientName, handshakeTimeoutMs, resumeTimeoutMs };
}

function lost(reason: Error | undefined): Error {
  return reason ?? new SallyportError('PROCESS_CONNECTION_LOST', 'the client is closed');
}

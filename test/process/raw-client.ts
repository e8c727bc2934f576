import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { SALLYPORT } from '../e2e/command.js';

export const PATH = '/usr/local/bin:/usr/bin:/bin';
export type Kind = 'stdio' | 'websocket';
export const KINDS: readonly Kind[] = ['stdio', 'websocket'];

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of any shape
export type Message = any;

/** A server of the built command, and what it says to people. */
export interface BuiltServer {
  readonly child: ChildProcess;
  readonly url: string;
  readonly exited: Promise<number | null>;
  stderr(): string;
}

/** Starts `sallyport exec-server`, waits for its banner when it listens, and ends it with the test. */
export async function builtServer(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<BuiltServer> {
  const { server, dispose } = await launchServer(args, env);
  onTestFinished(dispose);
  return server;
}

/** The same for whoever disposes of it in another way. */
export async function launchServer(args: readonly string[] = [], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [SALLYPORT, 'exec-server', ...args], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH, HOME: '/tmp', ...env },
  });
  let stderr = '';
  let url = '';
  const exited = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
  const dispose = async (): Promise<void> => {
    child.kill('SIGKILL');
    await exited;
  };
  child.stdin.on('error', () => {});
  const listening = new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk;
      url = /listening on (ws:\S+)/.exec(stderr)?.[1] ?? url;
      if (url !== '') resolve();
    });
    void exited.then(() => reject(new Error(`the server ended: ${stderr}`)));
  });
  listening.catch(() => {});
  if (args.some((argument) => argument.includes('ws://'))) await listening;
  return { server: { child, url, exited, stderr: () => stderr } satisfies BuiltServer, dispose };
}

/** A client that sends and receives messages exactly as a test says. */
export class RawClient {
  readonly received: Message[] = [];
  closed: Promise<string>;
  readonly #write: (text: string) => void;
  readonly #end: () => void;
  readonly server: BuiltServer | undefined;
  #waiters: (() => void)[] = [];
  #nextId = 1;
  #ended = false;

  constructor(
    write: (text: string) => void,
    end: () => void,
    subscribe: (onText: (text: string) => void, onClose: (reason: string) => void) => void,
    server?: BuiltServer,
  ) {
    this.#write = write;
    this.#end = end;
    this.server = server;
    let close: (reason: string) => void = () => {};
    this.closed = new Promise((resolve) => {
      close = resolve;
    });
    subscribe(
      (text) => {
        this.received.push(JSON.parse(text));
        this.#wake();
      },
      (reason) => {
        this.#ended = true;
        close(reason);
        this.#wake();
      },
    );
  }

  /** Sends text as it is: one line, or one frame. */
  sendText(text: string): void {
    this.#write(text);
  }

  send(message: unknown): void {
    this.#write(JSON.stringify(message));
  }

  /** Sends a request and waits for its answer: the whole message. */
  async call(method: string, params?: unknown): Promise<Message> {
    const id = this.#nextId;
    this.#nextId += 1;
    this.send(params === undefined ? { id, method } : { id, method, params });
    return this.until((message) => message.id === id);
  }

  /** Waits for the first message that fits, those that came already included. */
  async until(fits: (message: Message) => boolean): Promise<Message> {
    let from = 0;
    for (;;) {
      for (; from < this.received.length; from += 1) if (fits(this.received[from])) return this.received[from];
      if (this.#ended) throw new Error(`closed before: ${fits}`);
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Waits for a notification about a process. */
  notification(method: string, processId: string): Promise<Message> {
    return this.until((message) => message.method === method && message.params.processId === processId);
  }

  /** What was announced of a process's output so far. */
  output(processId: string): string {
    return this.chunks(processId).toString();
  }

  chunks(processId: string): Buffer {
    return Buffer.concat(
      this.received
        .filter((message) => message.method === 'process/output' && message.params.processId === processId)
        .map((message) => Buffer.from(message.params.chunk, 'base64')),
    );
  }

  /** Waits until a process's output holds a text. */
  async shows(processId: string, text: string): Promise<string> {
    await this.until(() => this.output(processId).includes(text));
    return this.output(processId);
  }

  async first(): Promise<this> {
    await this.call('initialize', { clientName: 'test' });
    this.send({ method: 'initialized', params: {} });
    return this;
  }

  /** Does the handshake of the later dialect and returns the session's id. */
  async later(resumeSessionId: string | null = null): Promise<string> {
    const answer = await this.call('initialize', { clientName: 'test', resumeSessionId });
    this.send({ method: 'initialized', params: {} });
    return answer.result?.sessionId;
  }

  end(): void {
    this.#end();
  }

  #wake(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const waiter of waiters) waiter();
  }
}

/** Opens a WebSocket to a server. */
export async function connectWebSocket(url: string, server?: BuiltServer): Promise<RawClient> {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  await new Promise((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  onTestFinished(() => socket.terminate());
  return new RawClient(
    (text) => socket.send(text),
    () => socket.close(),
    (onText, onClose) => {
      socket.on('message', (data) => onText(String(data)));
      socket.on('close', (_code, reason) => onClose(String(reason)));
    },
    server,
  );
}

/** A listening server for all tests of a file: connections do not see each other. */
export function sharedServer(): () => BuiltServer {
  let shared: Awaited<ReturnType<typeof launchServer>> | undefined;
  beforeAll(async () => {
    shared = await launchServer(['--listen', 'ws://127.0.0.1:0']);
  });
  afterAll(() => shared?.dispose());
  return () => {
    if (shared === undefined) throw new Error('there is no server');
    return shared.server;
  };
}

/** Connects to the built command: to a listening server that is shared, or to a fresh one on pipes. */
export async function connectTo(kind: Kind, shared: () => BuiltServer): Promise<RawClient> {
  return kind === 'websocket' ? connectWebSocket(shared().url, shared()) : connect('stdio');
}

/** Connects to a fresh server of the built command. */
export async function connect(kind: Kind, args: readonly string[] = []): Promise<RawClient> {
  if (kind === 'websocket') {
    const server = await builtServer(['--listen', 'ws://127.0.0.1:0', ...args]);
    return connectWebSocket(server.url, server);
  }
  const server = await builtServer(args);
  const { stdin, stdout } = server.child;
  return new RawClient(
    (text) => void stdin?.write(`${text}\n`),
    () => void stdin?.end(),
    (onText, onClose) => {
      createInterface({ input: stdout as NodeJS.ReadableStream })
        .on('line', onText)
        .on('close', () => onClose(''));
    },
    server,
  );
}

/** Parameters of a start in the first dialect. */
export function start(processId: string, script: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return { processId, argv: ['sh', '-c', script], cwd: '/tmp', env: { PATH }, tty: false, arg0: null, ...more };
}

/** Parameters of a start in the later dialect. */
export function laterStart(processId: string, script: string, more: Record<string, unknown> = {}) {
  return { ...start(processId, script), cwd: 'file:///tmp', ...more };
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');
export const uri = (path: string): string => pathToFileURL(path).href;

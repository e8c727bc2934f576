import { pathToFileURL } from 'node:url';
import { CheckFailed } from '../check.js';
import { expectEqual, expectThat, show } from '../expect.js';
import { isObject, type JsonObject } from '../target/codec.js';
import type { Peer } from '../target/peer.js';
import { SHOWN_MESSAGES } from './limits.js';

/** The two revisions of the protocol. A client of the later one always sends `resumeSessionId`. */
export type Dialect = 'first' | 'later';

export interface Refusal {
  readonly code: unknown;
  readonly message: unknown;
}

/** What `process/start` takes beyond a script; `cwd` is a native path and is written as the dialect wants it. */
export interface StartOptions {
  readonly argv?: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly tty?: boolean;
  readonly arg0?: string | null;
  readonly [field: string]: unknown;
}

/** Where processes run unless told otherwise. */
export interface ProcessPlace {
  /** A target that confines processes may show them no other. */
  readonly folder: string;
  /** Beside `PATH`. */
  readonly env: Readonly<Record<string, string>>;
}

export const PATH = '/usr/local/bin:/usr/bin:/bin';
const PADDED_BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A client on one connection, message by message. What arrived is kept in its order. */
export class ExecClient {
  readonly peer: Peer<JsonObject>;
  readonly dialect: Dialect;
  /** Everything that arrived and that was looked at, in order. */
  readonly log: JsonObject[] = [];
  readonly #place: ProcessPlace;
  readonly #running = new Set<string>();
  #requests = 0;
  #writes = 0;

  constructor(peer: Peer<JsonObject>, dialect: Dialect, place: ProcessPlace) {
    this.peer = peer;
    this.dialect = dialect;
    this.#place = place;
  }

  /** Does the handshake. Gives the result of `initialize`. */
  async open(resumeSessionId: string | null = null): Promise<JsonObject> {
    const result = await this.result('initialize', this.initializeParams(resumeSessionId));
    this.peer.send({ method: 'initialized', params: {} });
    return result;
  }

  initializeParams(resumeSessionId: string | null = null): JsonObject {
    const clientName = 'sallyport-conformance';
    return this.dialect === 'first' ? { clientName } : { clientName, resumeSessionId };
  }

  /** Sends a request and gives its id. */
  request(method: string, params: unknown): number {
    this.#requests += 1;
    this.peer.send({ id: this.#requests, method, params });
    return this.#requests;
  }

  /** Waits for the answer to a request: the whole message. */
  answer(id: unknown, about = 'the request'): Promise<JsonObject> {
    return this.until(`an answer to ${about}`, (message) => message['id'] === id && message['method'] === undefined);
  }

  async call(method: string, params: unknown): Promise<JsonObject> {
    return this.answer(this.request(method, params), method);
  }

  /** Fails unless the server answers, whatever it says. */
  async alive(): Promise<void> {
    await this.call('process/terminate', { processId: 'nobody' });
  }

  /** The result of a request. Fails when it is refused. */
  async result(method: string, params: unknown): Promise<JsonObject> {
    const answer = await this.call(method, params);
    const result = answer['result'];
    expectThat(isObject(result), `a result of ${method}`, answer);
    return result;
  }

  /** The error of a request. Fails when it is carried out. */
  async refusal(method: string, params: unknown, expected: string): Promise<Refusal> {
    const answer = await this.call(method, params);
    const error = answer['error'];
    expectThat(isObject(error), expected, answer);
    return { code: error['code'], message: error['message'] };
  }

  /** Waits for the first message that fits, those that came already included. */
  async until(expected: string, fits: (message: JsonObject) => boolean): Promise<JsonObject> {
    for (let index = 0; ; index += 1) {
      while (index >= this.log.length) this.log.push(await this.#next(expected));
      const message = this.log[index]!;
      if (fits(message)) return message;
    }
  }

  /** `/tmp` as the dialect writes it. */
  path(native: string): string {
    return this.dialect === 'first' ? native : pathToFileURL(native).href;
  }

  startParams(processId: string, script: string, options: StartOptions = {}): JsonObject {
    const { cwd = this.#place.folder, ...more } = options;
    const base = {
      processId,
      argv: ['/bin/sh', '-c', script],
      cwd: this.path(cwd),
      env: { PATH, ...this.#place.env },
      tty: false,
      arg0: null,
    };
    return { ...base, ...more };
  }

  /** Starts a shell with a script. Gives the result of `process/start`. */
  async start(processId: string, script: string, options: StartOptions = {}): Promise<JsonObject> {
    this.#running.add(processId);
    return this.result('process/start', this.startParams(processId, script, options));
  }

  /** Starts a shell with a script and waits for its end, and in the later dialect for that of its output. */
  async run(processId: string, script: string, options: StartOptions = {}): Promise<{ code: unknown; output: string }> {
    await this.start(processId, script, options);
    const code = await this.finished(processId);
    return { code, output: this.output(processId).toString() };
  }

  /** The same for a script whose output is known: in the first dialect the end of a process may be told before its output. */
  async prints(
    processId: string,
    script: string,
    wanted: string,
    what: string,
    options: StartOptions = {},
  ): Promise<void> {
    await this.run(processId, script, options);
    await this.expectOutput(processId, wanted, what);
  }

  /** Waits until a process that has ended has told as much as is wanted, and fails unless it is that, in one stream or all. */
  async expectOutput(processId: string, wanted: string, what: string, stream?: string): Promise<void> {
    const told = (): string => this.output(processId, stream).toString();
    if (this.dialect === 'first') {
      await this.until(`${what} to be ${show(wanted)}`, () => told().length >= wanted.length);
    }
    expectEqual(told(), wanted, what);
  }

  notification(method: string, processId: string): Promise<JsonObject> {
    return this.until(`${method} for ${processId}`, (message) => isAbout(message, method, processId));
  }

  /** Waits for `process/exited` and gives the exit code. */
  async exited(processId: string): Promise<unknown> {
    const { params } = await this.notification('process/exited', processId);
    this.#running.delete(processId);
    return isObject(params) ? params['exitCode'] : undefined;
  }

  /** Waits until all is told of a process, which in the later dialect is `process/closed`, and gives the exit code. */
  async finished(processId: string): Promise<unknown> {
    const code = await this.exited(processId);
    if (this.dialect === 'later') await this.notification('process/closed', processId);
    return code;
  }

  /** The notifications about a process so far, in order. */
  notes(processId: string): JsonObject[] {
    return this.log.filter((message) => isObject(message['params']) && message['params']['processId'] === processId);
  }

  /** What was announced of a process's output so far, of one stream or of all. */
  output(processId: string, stream?: string): Buffer {
    const notes = this.notes(processId).filter(({ method }) => method === 'process/output');
    const params = notes.map((note) => note['params']).filter(isObject);
    return Buffer.concat(
      params.filter((part) => stream === undefined || part['stream'] === stream).map((part) => bytesOf(part['chunk'])),
    );
  }

  /** Waits until the output of a process holds a text. */
  async shows(processId: string, text: string): Promise<string> {
    await this.until(`output with ${JSON.stringify(text)} from ${processId}`, () =>
      this.output(processId).includes(text),
    );
    return this.output(processId).toString();
  }

  /** Waits until so many bytes of a process's output were announced. */
  async flooded(processId: string, bytes: number): Promise<void> {
    let told = 0;
    await this.until(`${bytes} bytes of output from ${processId}`, (message) => {
      const { params } = message;
      if (isAbout(message, 'process/output', processId) && isObject(params)) told += bytesOf(params['chunk']).length;
      return told >= bytes;
    });
  }

  /** Sends a write; gives the whole answer. */
  async write(processId: string, bytes: string | Uint8Array): Promise<JsonObject> {
    return this.answer(this.requestWrite(processId, bytes), 'process/write');
  }

  requestWrite(processId: string, bytes: string | Uint8Array): number {
    this.#writes += 1;
    const chunk = Buffer.from(bytes).toString('base64');
    const writeId = `write-${this.#writes}`;
    return this.request('process/write', { processId, chunk, ...(this.dialect === 'first' ? {} : { writeId }) });
  }

  /** Writes, and fails unless the write is acknowledged. */
  async writes(processId: string, bytes: string | Uint8Array): Promise<void> {
    this.expectAccepted(await this.write(processId, bytes));
  }

  expectAccepted(answer: JsonObject): void {
    const wanted = this.dialect === 'first' ? { accepted: true } : { status: 'accepted' };
    expectEqual(answer['result'], wanted, 'the result of process/write');
  }

  /** Writes, and fails unless the write is refused: with an error in the first dialect, with a status in the later one. */
  async cannotWrite(processId: string, status: string): Promise<void> {
    const answer = await this.write(processId, 'x');
    if (this.dialect === 'first') expectThat(isObject(answer['error']), 'an error for the write', answer);
    else expectEqual(answer['result'], { status }, 'the result of process/write');
  }

  read(processId: string, params: JsonObject = {}): Promise<JsonObject> {
    return this.result('process/read', { processId, afterSeq: 0, ...params });
  }

  terminate(processId: string): Promise<JsonObject> {
    this.#running.delete(processId);
    return this.result('process/terminate', { processId });
  }

  /** Ends what this client started and did not end: a session may outlive its connection. */
  async endAll(): Promise<void> {
    if (this.peer.ending !== undefined) return;
    const asked = [...this.#running].map((processId) => this.request('process/terminate', { processId }));
    // Whatever the answer is: the others are to be heard, too.
    for (const id of asked) await this.answer(id, 'process/terminate').catch(() => {});
  }

  async #next(expected: string): Promise<JsonObject> {
    try {
      return await this.peer.next(expected, (message) => message);
    } catch (error) {
      if (!(error instanceof CheckFailed) || this.log.length === 0) throw error;
      const last = this.log.slice(-SHOWN_MESSAGES).map(show).join(' ');
      throw new CheckFailed({ expected, cameBack: `${error.cameBack}; before that ${last}` });
    }
  }
}

/** The chunks of a result of `process/read`. */
export function chunksOf(read: JsonObject): { seq: number; stream: unknown; bytes: Buffer }[] {
  const chunks = read['chunks'];
  expectThat(Array.isArray(chunks), 'chunks in the result of process/read', read);
  return chunks.map((chunk: unknown) => {
    expectThat(isObject(chunk) && Number.isSafeInteger(chunk['seq']), 'a chunk with a whole number as seq', chunk);
    return { seq: Number(chunk['seq']), stream: chunk['stream'], bytes: bytesOf(chunk['chunk']) };
  });
}

/** All bytes of a result of `process/read`. */
export function textOf(read: JsonObject): string {
  return Buffer.concat(chunksOf(read).map(({ bytes }) => bytes)).toString();
}

/** Decodes bytes as the protocol writes them. Fails for anything else. */
export function bytesOf(chunk: unknown): Buffer {
  expectThat(typeof chunk === 'string' && PADDED_BASE64.test(chunk), 'bytes as padded base64', chunk);
  return Buffer.from(chunk, 'base64');
}

function isAbout(message: JsonObject, method: string, processId: string): boolean {
  return message['method'] === method && isObject(message['params']) && message['params']['processId'] === processId;
}

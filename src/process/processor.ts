import { setMaxListeners } from 'node:events';
import { ADDITIONS } from './environment.js';
import { asRefusal, ExecError, REFUSAL_CODES } from './exec-error.js';
import { Fields } from './fields.js';
import type { ExecHandler } from './handler.js';
import { type Dialect, type Incoming, isObject, type RequestId, readEnvelope } from './messages.js';
import { type Prepared, type Reply, routeOf } from './routing.js';
import type { Session } from './session.js';

/** What a processor asks of its connection. */
export interface ProcessorPort {
  /** Sends a message to the client, and resolves when it has left. Throws when it cannot be written as a message. */
  send(message: unknown): void | Promise<void>;
  /** A session is there from now on. Its events may be sent once the client has said `initialized`. */
  opened(session: Session): void;
  ready(session: Session): void;
  /** The client broke the protocol in a way that has no answer. */
  fail(reason: string): void;
}

export interface ProcessorOptions {
  readonly handler: ExecHandler;
  readonly principal: string;
  readonly port: ProcessorPort;
}

/** Whoever has too much under way must still be able to end it. */
const NEVER_REFUSED = new Set(['process/terminate', 'process/signal']);

/**
 * The requests of one connection: the handshake, the answers, and what has no answer.
 *
 *     new ──initialize──▶ initializing ──initialized──▶ open ──▶ ended
 *
 * Each request runs on its own, so a long poll holds up nobody; each starts in the order of arrival.
 */
export class Processor {
  readonly #handler: ExecHandler;
  readonly #principal: string;
  readonly #port: ProcessorPort;
  readonly #gone = new AbortController();
  #state: 'new' | 'initializing' | 'open' | 'ended' = 'new';
  #session: Session | undefined;
  #pending = 0;

  constructor(options: ProcessorOptions) {
    this.#handler = options.handler;
    this.#principal = options.principal;
    this.#port = options.port;
    // One listener for each long poll, and their number is limited elsewhere.
    setMaxListeners(0, this.#gone.signal);
  }

  /** Handles one message from the client. */
  receive(message: unknown): void {
    if (this.#state === 'ended') return;
    const incoming = readEnvelope(message, this.#handler.limits.idLength);
    switch (incoming.kind) {
      case 'request':
        return this.#onRequest(incoming);
      case 'notification':
        return this.#onNotification(incoming.method);
      case 'malformed':
        // Before the handshake nobody knows the dialect; the stricter one holds.
        if (this.#session?.dialect !== 'later') return this.#port.fail(`malformed message: ${incoming.problem}`);
        return this.#refuse(-1, new ExecError('invalidRequest', `malformed message: ${incoming.problem}`));
      default:
        return this.#port.fail('a response arrived that nobody asked for');
    }
  }

  /** Says that the connection is gone. */
  end(): void {
    this.#state = 'ended';
    this.#gone.abort();
  }

  #onNotification(method: string): void {
    if (method !== 'initialized') return this.#port.fail(`unknown notification: ${method.slice(0, 80)}`);
    if (this.#state === 'new' || this.#session === undefined) {
      return this.#port.fail('initialized was sent before initialize');
    }
    if (this.#state !== 'initializing') return;
    this.#state = 'open';
    this.#port.ready(this.#session);
  }

  #onRequest(request: Extract<Incoming, { kind: 'request' }>): void {
    const { id } = request;
    const { pendingRequests } = this.#handler.limits;
    if (this.#pending >= pendingRequests && !NEVER_REFUSED.has(request.method)) {
      return this.#refuse(
        id,
        new ExecError('invalidRequest', `too many pending requests: the limit is ${pendingRequests}`),
      );
    }
    let reply: Reply | Promise<Reply>;
    try {
      reply = request.method === 'initialize' ? this.#initialize(request.params) : this.#run(request);
    } catch (error) {
      return this.#refuse(id, asRefusal(error));
    }
    if (!(reply instanceof Promise)) return this.#answer(id, reply);
    this.#pending += 1;
    reply.then(
      (answer) => {
        this.#pending -= 1;
        this.#answer(id, answer);
      },
      (error: unknown) => {
        this.#pending -= 1;
        this.#refuse(id, asRefusal(error));
      },
    );
  }

  #initialize(params: unknown): Reply {
    const dialect: Dialect = isObject(params) && Object.hasOwn(params, 'resumeSessionId') ? 'later' : 'first';
    const fields = Fields.of(params, dialect);
    fields.string('clientName');
    const resume = fields.optionalString('resumeSessionId');
    const wanted = fields.optionalInteger('maxChunkBytes');
    if (this.#state !== 'new') {
      throw new ExecError('invalidRequest', 'initialize may only be sent once per connection');
    }
    const { sessions, limits } = this.#handler;
    const usual = dialect === 'first' ? limits.firstChunkBytes : limits.laterChunkBytes;
    const maxChunkBytes = wanted === undefined ? usual : Math.min(Math.max(wanted, 1), limits.laterChunkBytes);
    const session =
      resume === undefined
        ? sessions.open({ dialect, principal: this.#principal, maxChunkBytes })
        : sessions.resume(resume, this.#principal);
    this.#session = session;
    this.#state = 'initializing';
    this.#port.opened(session);
    return { result: dialect === 'first' ? {} : { sessionId: session.id, capabilities: ADDITIONS } };
  }

  #run({ method, params }: { readonly method: string; readonly params: unknown }): Reply | Promise<Reply> {
    const session = this.#session;
    const prepared =
      session === undefined ? this.#prepareForAny(method, params) : this.#prepare(method, params, session.dialect);
    if (session === undefined) throw new ExecError('invalidRequest', `${method} came before initialize`);
    if (this.#state !== 'open') throw new ExecError('invalidRequest', `${method} came before initialized`);
    return prepared({ handler: this.#handler, session, dialect: session.dialect, signal: this.#gone.signal });
  }

  #prepare(method: string, params: unknown, dialect: Dialect): Prepared {
    const route = routeOf(method, dialect);
    if (route === undefined) {
      const name = method.slice(0, this.#handler.limits.idLength);
      throw new ExecError(dialect === 'first' ? 'invalidRequest' : 'unknownMethod', `unknown method: ${name}`);
    }
    return route(Fields.of(params, dialect), this.#handler.limits);
  }

  /** Parameters are judged before the handshake is, and before that they fit when they fit either dialect. */
  #prepareForAny(method: string, params: unknown): Prepared {
    if (routeOf(method, 'later') === undefined) return this.#prepare(method, params, 'first');
    try {
      return this.#prepare(method, params, 'later');
    } catch (error) {
      if (routeOf(method, 'first') === undefined) throw error;
      return this.#prepare(method, params, 'first');
    }
  }

  #answer(id: RequestId, { result, afterwards, left }: Reply): void {
    let leaving: Promise<void> | undefined;
    try {
      if (this.#state !== 'ended') leaving = this.#port.send({ id, result }) ?? undefined;
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      this.#refuse(id, new ExecError('internal', `the answer cannot be sent: ${problem}`));
    }
    afterwards?.();
    if (left !== undefined) Promise.resolve(leaving).then(left, left);
  }

  #refuse(id: RequestId, error: ExecError): void {
    if (this.#state === 'ended') return;
    void this.#port.send({ id, error: { code: REFUSAL_CODES[error.kind], message: error.message } });
  }
}

import { isSallyportError, SallyportError } from '../../errors/index.js';
import { printable, type Transport } from '../../wire/index.js';
import { ExecError, refusalKind } from '../exec-error.js';
import { type Incoming, readEnvelope } from '../messages.js';

/** Whether a request may be sent again on another connection without doing anything twice. */
export type Repeatable = 'repeatable' | 'once';

interface Pending {
  readonly method: string;
  readonly params: unknown;
  readonly repeatable: Repeatable;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Most characters of an id in an answer. Ids are our own: numbers. */
const ID_LENGTH = 64;

/** Matches answers to requests, over one transport at a time. */
export class Rpc {
  readonly #pending = new Map<number, Pending>();
  readonly #onNotification: (method: string, params: unknown) => void | Promise<void>;
  #transport: Transport<unknown, unknown> | undefined;
  #nextId = 1;
  #failure: Error | undefined;

  constructor(onNotification: (method: string, params: unknown) => void | Promise<void>) {
    this.#onNotification = onNotification;
  }

  /** Speaks over this transport from now on. */
  attach(transport: Transport<unknown, unknown>): void {
    this.#transport = transport;
    transport.onMessage((message) => this.#receive(message));
  }

  /** Stops speaking. Requests stay open, for `repeat` or `fail`. */
  detach(): void {
    this.#transport = undefined;
  }

  request(method: string, params: unknown, repeatable: Repeatable = 'once'): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const id = this.#nextId;
      this.#nextId += 1;
      this.#pending.set(id, { method, params, repeatable, resolve, reject });
      this.#ask(id, method, params);
    });
  }

  notify(method: string, params: unknown): void {
    this.#send({ method, params });
  }

  /** Sends what can be sent again, and gives up on the rest. */
  repeat(): void {
    for (const [id, { method, params, repeatable, reject }] of [...this.#pending]) {
      if (repeatable === 'repeatable') this.#ask(id, method, params);
      else {
        this.#pending.delete(id);
        reject(new SallyportError('PROCESS_CONNECTION_LOST', `the connection was lost during ${method}`));
      }
    }
  }

  /** Gives up on every request, also those to come. */
  fail(error: Error): void {
    this.#failure = error;
    for (const { reject } of this.#pending.values()) reject(error);
    this.#pending.clear();
  }

  /** Sends a request. One that cannot be sent fails, and no other. */
  #ask(id: number, method: string, params: unknown): void {
    try {
      this.#send({ id, method, params });
    } catch (error) {
      this.#take(id)?.reject(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #send(message: unknown): void {
    try {
      void this.#transport?.send(message);
    } catch (error) {
      // The close that follows decides what becomes of the request.
      if (!isSallyportError(error, 'WIRE_CLOSED')) throw error;
    }
  }

  #receive(message: unknown): void | Promise<void> {
    const incoming: Incoming = readEnvelope(message, ID_LENGTH);
    switch (incoming.kind) {
      case 'notification':
        return this.#onNotification(incoming.method, incoming.params);
      case 'response':
        return this.#take(incoming.id)?.resolve(incoming.result);
      case 'error': {
        const error = new ExecError(refusalKind(incoming.code), printable(incoming.message));
        return this.#take(incoming.id)?.reject(error);
      }
      case 'request':
        return this.#send({ id: incoming.id, error: { code: -32601, message: `unknown method: ${incoming.method}` } });
      case 'malformed':
        throw new SallyportError('PROCESS_PROTOCOL', `the server sent something else: ${incoming.problem}`);
    }
  }

  #take(id: string | number): Pending | undefined {
    if (typeof id !== 'number') return undefined;
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    return pending;
  }
}

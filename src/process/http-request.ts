import { lookup } from 'node:dns/promises';
import { type IncomingMessage, request as plainRequest, validateHeaderName, validateHeaderValue } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isIP } from 'node:net';
import type { NetworkGate, Passage } from '../sandbox/index.js';
import { ExecError } from './exec-error.js';
import type { ProcessLimits } from './limits.js';
import type { HttpHeader } from './messages.js';
import type { ExecObserver, RequestWatcher } from './observer.js';
import type { Session } from './session.js';

/** One connection that an HTTP request is about to open. */
export interface NetworkTarget {
  readonly url: URL;
  /** The address that will be connected to; a name cannot change its meaning after this question. */
  readonly address: string;
  readonly port: number;
}

/** Decides about every connection, also those that redirects lead to. */
export type NetworkPolicy = (
  target: NetworkTarget,
) =>
  | { readonly allow: true }
  | { readonly allow: false; readonly reason: string }
  | Promise<{ readonly allow: true } | { readonly allow: false; readonly reason: string }>;

export interface HttpRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: readonly HttpHeader[];
  readonly body: Buffer | undefined;
  readonly timeoutMs: number | undefined;
  readonly redirectPolicy: 'follow' | 'stop';
  readonly requestId: string;
  readonly streaming: 'stream' | 'whole';
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: readonly HttpHeader[];
  readonly body: Buffer;
  /** Starts the stream of a body that was asked for in pieces, after the response was sent. */
  readonly begin: () => void;
  /** To be called when the response has left, or cannot any more. */
  readonly left: () => void;
}

const METHOD = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,32}$/;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** These belong to the connection or would confuse its framing. */
const RESERVED = new Set(['connection', 'content-length', 'host', 'keep-alive', 'transfer-encoding', 'upgrade']);
/** These must not follow a redirect to somebody else. */
const CREDENTIALS = new Set(['authorization', 'cookie', 'proxy-authorization']);

/** Sends HTTP requests for a client, within limits and under a policy. */
export class HttpRequests {
  readonly #limits: ProcessLimits;
  readonly #gate: NetworkGate;
  readonly #policy: NetworkPolicy;
  readonly #observer: ExecObserver | undefined;

  constructor(options: {
    readonly limits: ProcessLimits;
    /** Decides which names are resolved at all. Default: all. */
    readonly gate: NetworkGate | undefined;
    readonly policy: NetworkPolicy;
    readonly observer: ExecObserver | undefined;
  }) {
    this.#limits = options.limits;
    this.#gate = options.gate ?? anywhere;
    this.#policy = options.policy;
    this.#observer = options.observer;
  }

  async send(session: Session, asked: HttpRequest): Promise<HttpResponse> {
    const { requestId } = asked;
    const { httpRequests, httpTimeoutMs } = this.#limits;
    const url = this.#check(asked);
    if (session.httpRequests.has(requestId)) {
      throw new ExecError('invalidRequest', `http request ${requestId} is under way already`);
    }
    if (session.httpRequests.size >= httpRequests) {
      throw new ExecError('invalidRequest', `too many http requests at once: the limit is ${httpRequests}`);
    }
    const watcher = this.#observer?.request(session, { requestId, method: asked.method, url: url.href });
    if (watcher !== undefined && 'refuse' in watcher) throw new ExecError('invalidRequest', watcher.refuse);
    session.httpRequests.add(requestId);
    // Not `AbortSignal.any` with `AbortSignal.timeout`: nothing holds on to such a timeout, and one that is collected never fires.
    const ending = new AbortController();
    const { signal } = ending;
    const abort = (): void => ending.abort();
    const timer = setTimeout(abort, Math.min(asked.timeoutMs ?? httpTimeoutMs, httpTimeoutMs));
    session.connectionSignal.addEventListener('abort', abort, { once: true });
    if (session.connectionSignal.aborted) abort();
    const done = (problem?: string): void => {
      clearTimeout(timer);
      session.connectionSignal.removeEventListener('abort', abort);
      session.httpRequests.delete(requestId);
      watcher?.ended(problem);
    };
    try {
      const response = await this.#follow(asked, url, signal, watcher);
      const head = { status: response.statusCode ?? 0, headers: headersOf(response) };
      if (asked.streaming === 'whole') {
        const body = await this.#whole(response);
        // It counts as under way until then: whoever asks faster than it reads waits.
        const turn = await session.fileBytes.take(body.length, session.connectionSignal);
        done();
        return { ...head, body, begin: () => {}, left: () => turn[Symbol.dispose]() };
      }
      const begin = (): void => {
        void stream(session, requestId, response, this.#limits.laterChunkBytes, signal).finally(() => done());
      };
      return { ...head, body: Buffer.alloc(0), begin, left: () => {} };
    } catch (error) {
      done(error instanceof Error ? error.message : String(error));
      if (error instanceof ExecError) throw error;
      throw new ExecError('internal', `http/request failed: ${reasonOf(error, signal)}`, { cause: error });
    }
  }

  #check(asked: HttpRequest): URL {
    const refuse = (problem: string): ExecError => new ExecError('invalidParams', `http/request ${problem}`);
    if (!METHOD.test(asked.method) || asked.method.toUpperCase() === 'CONNECT') throw refuse('method is invalid');
    const url = URL.canParse(asked.url) ? new URL(asked.url) : undefined;
    if (url === undefined) throw refuse('url is invalid');
    if (url.protocol !== 'http:' && url.protocol !== 'https:') {
      throw refuse(`only supports http and https URLs, got ${url.protocol.slice(0, -1)}`);
    }
    const { httpHeaders, httpHeaderBytes } = this.#limits;
    if (asked.headers.length > httpHeaders) throw refuse(`has more than ${httpHeaders} headers`);
    let bytes = 0;
    for (const { name, value } of asked.headers) {
      bytes += name.length + value.length;
      try {
        validateHeaderName(name);
        validateHeaderValue(name, value);
      } catch {
        throw refuse(`header ${JSON.stringify(name.slice(0, 80))} is invalid`);
      }
    }
    if (bytes > httpHeaderBytes) throw refuse(`headers have more than ${httpHeaderBytes} bytes`);
    return url;
  }

  async #follow(
    asked: HttpRequest,
    start: URL,
    signal: AbortSignal,
    watcher: RequestWatcher | undefined,
  ): Promise<IncomingMessage> {
    let { method, headers, body } = asked;
    let url = start;
    for (let hop = 0; hop <= this.#limits.httpRedirects; hop += 1) {
      const response = await this.#exchange(url, method, headers, body, signal, watcher);
      const { location } = response.headers;
      const status = response.statusCode ?? 0;
      if (asked.redirectPolicy === 'stop' || !REDIRECTS.has(status) || location === undefined) return response;
      response.destroy();
      const next = URL.canParse(location, url.href) ? new URL(location, url) : undefined;
      if (next === undefined || (next.protocol !== 'http:' && next.protocol !== 'https:')) {
        throw new ExecError('internal', 'http/request failed: the redirect leads nowhere');
      }
      if (next.origin !== url.origin) headers = headers.filter(({ name }) => !CREDENTIALS.has(name.toLowerCase()));
      if (status === 303 || ((status === 301 || status === 302) && method.toUpperCase() === 'POST')) {
        if (method.toUpperCase() !== 'HEAD') method = 'GET';
        body = undefined;
        headers = headers.filter(({ name }) => !name.toLowerCase().startsWith('content-'));
      }
      url = next;
    }
    throw new ExecError('internal', `http/request failed: more than ${this.#limits.httpRedirects} redirects`);
  }

  async #exchange(
    url: URL,
    method: string,
    headers: readonly HttpHeader[],
    body: Buffer | undefined,
    signal: AbortSignal,
    watcher: RequestWatcher | undefined,
  ): Promise<IncomingMessage> {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
    const passage = await this.#gate(host, port);
    if (!passage.ok) throw new ExecError('invalidRequest', `http/request refused: ${passage.reason}`);
    const { address } = passage;
    const family = isIP(address);
    const asked = { url, address, port };
    const verdict = await this.#policy(asked);
    watcher?.decided(asked, verdict);
    if (!verdict.allow) throw new ExecError('invalidRequest', `http/request refused by policy: ${verdict.reason}`);
    return new Promise((resolve, reject) => {
      const send = url.protocol === 'https:' ? secureRequest : plainRequest;
      const outgoing = send(url, {
        method,
        signal,
        agent: false,
        maxHeaderSize: this.#limits.httpHeaderBytes,
        // The very address that the policy was asked about.
        lookup: (_host, options, callback) => {
          if (options.all) callback(null, [{ address, family }]);
          else callback(null, address, family);
        },
      });
      for (const [name, values] of groupHeaders(headers)) outgoing.setHeader(name, values);
      outgoing.once('response', resolve);
      outgoing.on('error', reject);
      // A server that changes the protocol gives no response and no error: all there is then is the end.
      outgoing.once('close', () => reject(new Error('the connection ended without a response')));
      if (body === undefined || body.length === 0) outgoing.end();
      else outgoing.end(body);
    });
  }

  async #whole(response: IncomingMessage): Promise<Buffer> {
    const limit = this.#limits.httpBodyBytes;
    const chunks: Buffer[] = [];
    let total = 0;
    for await (const chunk of response) {
      total += chunk.length;
      if (total > limit) {
        response.destroy();
        throw new ExecError('internal', `http/request failed: the body is larger than ${limit} bytes; stream it`);
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks, total);
  }
}

/** Sends a body in pieces, as fast as the client takes them. The last piece is empty and says how it ended. */
async function stream(
  session: Session,
  requestId: string,
  response: IncomingMessage,
  maxBytes: number,
  signal: AbortSignal,
): Promise<void> {
  let seq = 0;
  const send = (bytes: Buffer, done: boolean, error: string | null): void => {
    seq += 1;
    session.send({ type: 'bodyDelta', requestId, seq, bytes, done, error });
  };
  let failure: string | null = null;
  try {
    for await (const chunk of response) {
      for (let at = 0; at < chunk.length; at += maxBytes) {
        await session.whenReady();
        send(chunk.subarray(at, at + maxBytes), false, null);
      }
    }
  } catch (error) {
    failure = reasonOf(error, signal);
  }
  send(Buffer.alloc(0), true, failure);
}

/** Lets every connection through, to where its name leads. */
async function anywhere(host: string): Promise<Passage> {
  const address = isIP(host) === 0 ? (await lookup(host)).address : host;
  return { ok: true, address, reason: 'there is no gate' };
}

function headersOf(response: IncomingMessage): HttpHeader[] {
  const headers: HttpHeader[] = [];
  for (let index = 0; index + 1 < response.rawHeaders.length; index += 2) {
    headers.push({ name: response.rawHeaders[index]!.toLowerCase(), value: response.rawHeaders[index + 1]! });
  }
  return headers;
}

function groupHeaders(headers: readonly HttpHeader[]): Map<string, string[]> {
  const grouped = new Map<string, string[]>();
  for (const { name, value } of headers) {
    const key = name.toLowerCase();
    if (RESERVED.has(key)) continue;
    grouped.set(key, [...(grouped.get(key) ?? []), value]);
  }
  return grouped;
}

function reasonOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'the time is up';
  return error instanceof Error ? error.message || error.name : String(error);
}

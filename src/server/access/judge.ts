import type { IncomingMessage } from 'node:http';
import { bearerOf, hostNameOf, isLoopbackName } from '../../wire/index.js';
import type { Problem } from '../http/problem.js';
import type { Caller } from './caller.js';
import type { KeyRing } from './keys.js';

export interface AccessRules {
  /** Whether the `Host` header is checked, and which names pass besides those of this machine to itself. */
  readonly hosts: 'any' | readonly string[];
  /** Pages that may use the server. Without a key: none but its own and these. With one: any, unless some are named. */
  readonly origins: readonly string[];
  /** Whether `/info` needs a key. */
  readonly info: 'open' | 'guarded';
}

export type Verdict =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly problem: Problem };

const OPEN_TO_ALL = new Set(['/health', '/readyz']);
const OPEN_TO_PAGES = new Set(['/health', '/info']);

/** What browsers say about who makes them send a request, when it is not this server's own page or the user. */
const FOREIGN_SITES = new Set(['cross-site', 'same-site']);

const refuse = (status: number, code: Problem['code'], message: string, field?: string): Verdict => ({
  ok: false,
  problem: { status, code, message, ...(field === undefined ? {} : { details: { field } }) },
});

/** The path of a request without its query, which is never looked at for secrets. */
export function pathOf(request: Pick<IncomingMessage, 'url'>): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

/** The path as the rules name it: what is served under `/api` as well is the same thing. */
function ruled(path: string): string {
  return path.startsWith('/api/') ? path.slice('/api'.length) : path;
}

/** Tells whether a page of somebody else makes a browser send this. */
export function isForeign(request: IncomingMessage, origins: readonly string[]): boolean {
  const { origin, host } = request.headers;
  if (origin === undefined) return FOREIGN_SITES.has(String(request.headers['sec-fetch-site']));
  return !origins.includes(origin) && origin !== `http://${host ?? ''}` && origin !== `https://${host ?? ''}`;
}

/** Judges a request by its head: under which name it came, which page sends it, and who asks. */
export function judge(request: IncomingMessage, token: string | undefined, rules: AccessRules, keys: KeyRing): Verdict {
  const path = ruled(pathOf(request));
  const address = request.socket.remoteAddress ?? '';
  const host = hostNameOf(request.headers.host);
  // With two of them, a proxy in between may have looked at the other.
  const hosts = hostCount(request);
  if (hosts === 0 && request.httpVersion !== '1.0') {
    return refuse(400, 'INVALID_REQUEST', 'there is no Host header', 'Host');
  }
  if (hosts > 1) return refuse(400, 'INVALID_REQUEST', 'there is more than one Host header', 'Host');
  if (rules.hosts !== 'any' && !isLoopbackName(host) && !rules.hosts.includes(host)) {
    return refuse(403, 'FORBIDDEN', `the Host ${JSON.stringify(host.slice(0, 100))} is not served here`, 'Host');
  }
  const foreign = isForeign(request, rules.origins);
  const restricted = !keys.required || rules.origins.length > 0;
  if (foreign && restricted && !OPEN_TO_PAGES.has(path)) {
    return refuse(403, 'FORBIDDEN', foreignMessage(request, keys), 'Origin');
  }
  if (!keys.required || OPEN_TO_ALL.has(path) || (path === '/info' && rules.info === 'open')) {
    return { ok: true, caller: { key: undefined, address } };
  }
  const key = keys.identify(token ?? '');
  if (key === undefined || token === undefined) return refuse(401, 'UNAUTHORIZED', 'Invalid or missing API key');
  return { ok: true, caller: { key, address } };
}

function hostCount({ rawHeaders }: IncomingMessage): number {
  return rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length;
}

function foreignMessage({ headers }: IncomingMessage, keys: KeyRing): string {
  const who =
    headers.origin === undefined ? 'pages of other sites' : `pages of ${JSON.stringify(headers.origin.slice(0, 100))}`;
  return `${who} may not use this server; ${keys.required ? '' : 'set an API key, or '}allow the origin with --allow-origin`;
}

/** The subprotocol that is agreed on with clients that send their token as another one. */
export const SUBPROTOCOL = 'sallyport';
const TOKEN_PREFIX = 'sallyport.bearer.';

/** The subprotocols that a client offers. */
export function subprotocolsOf({ headers }: IncomingMessage): string[] {
  return (headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** The token of an upgrade request: a bearer token, or, as browsers can set no header, a subprotocol that holds it in base64url. */
export function socketTokenOf(request: IncomingMessage): string | undefined {
  const bearer = bearerOf(request);
  if (bearer !== undefined || request.headers.authorization !== undefined) return bearer;
  const offered = subprotocolsOf(request).filter((name) => name.startsWith(TOKEN_PREFIX));
  if (offered.length !== 1) return undefined;
  return Buffer.from(offered[0]!.slice(TOKEN_PREFIX.length), 'base64url').toString('utf8');
}

/** Writes a token as the subprotocol that carries it. */
export function subprotocolOf(token: string): string {
  return `${TOKEN_PREFIX}${Buffer.from(token).toString('base64url')}`;
}

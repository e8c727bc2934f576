import type { IncomingMessage } from 'node:http';
import { isLoopback } from './listen-address.js';
import { bearerOf, hostNameOf, isLoopbackName, sameDigest, secretDigest } from './request-identity.js';

/** Who may open a connection. */
export interface AdmissionRules {
  /** The address that is listened on; on a loopback address the `Host` header must name this machine. */
  readonly host: string;
  /** The only path that exists. Any path, unless given. */
  readonly path?: string | undefined;
  /** Web pages that may connect, such as `https://app.example`. None, unless named. */
  readonly allowedOrigins?: readonly string[] | undefined;
  /** Names that the `Host` header may bear besides those of this machine, when a loopback address is listened on. */
  readonly allowedHosts?: readonly string[] | undefined;
  /** What a client must send as `Authorization: Bearer …`. */
  readonly token?: string | undefined;
}

export type Admission =
  | { readonly ok: true }
  | { readonly ok: false; readonly status: number; readonly message: string };

const ADMITTED: Admission = { ok: true };
const refuse = (status: number, message: string): Admission => ({ ok: false, status, message });

/** Judges an upgrade request, before anything is upgraded. */
export function admit(request: IncomingMessage, rules: AdmissionRules): Admission {
  const { origin, host } = request.headers;
  if (!hostIsOurs(host, rules)) return refuse(403, 'this Host is not served here');
  if (origin !== undefined) {
    if (!(rules.allowedOrigins ?? []).includes(origin)) return refuse(403, 'this Origin is not allowed');
  } else if (request.headers['sec-fetch-site'] !== undefined || request.headers['sec-fetch-mode'] !== undefined) {
    // Only browsers send these, and a browser that hides the page it acts for cannot be judged.
    return refuse(403, 'a browser must send its Origin');
  }
  if (rules.path !== undefined && pathOf(request) !== rules.path) return refuse(404, 'there is nothing at this path');
  if (rules.token !== undefined && !isToken(bearerOf(request), rules.token)) {
    return refuse(401, 'a valid bearer token is required');
  }
  return ADMITTED;
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

/** A page that rebinds its own name to this machine still sends that name. */
function hostIsOurs(header: string | undefined, rules: AdmissionRules): boolean {
  if (!isLoopback(rules.host)) return true;
  const name = hostNameOf(header);
  return rules.allowedHosts?.includes(name) === true || isLoopbackName(name);
}

function isToken(given: string | undefined, token: string): boolean {
  return sameDigest(secretDigest(given ?? ''), secretDigest(token)) && given !== undefined;
}

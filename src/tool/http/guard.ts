import { createHash, timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { failure } from '../failure.js';

const BEARER = /^Bearer +([^\s]+) *$/i;
const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Makes the check of the bearer token. Digests of equal length are compared in constant time. */
export function tokenCheck(apiKey: string): (request: FastifyRequest) => void {
  const expected = digest(apiKey);
  return (request) => {
    const { rawHeaders } = request.raw;
    let count = 0;
    for (let index = 0; index < rawHeaders.length; index += 2)
      if (rawHeaders[index]?.toLowerCase() === 'authorization') count += 1;
    const token = BEARER.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const matches = timingSafeEqual(digest(token), expected);
    if (count === 1 && matches) return;
    throw failure('UNAUTHORIZED', 'Invalid or missing API key');
  };
}

const LOOPBACK_HOST = /^(localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/i;

/** The host in a Host header, without its port. */
export function hostOf(header: string): string {
  return (/^(\[[^\]]*\]|[^:]*)(?::\d+)?$/.exec(header)?.[1] ?? '').toLowerCase();
}

/** Refuses requests that came under a name that is not this server's: a page's own domain pointed at this address. */
export function checkHost(request: FastifyRequest, hosts: readonly string[]): void {
  const host = hostOf(request.headers.host ?? '');
  if (hosts.includes(host) || (hosts.includes('loopback') && LOOPBACK_HOST.test(host))) return;
  throw failure('FORBIDDEN', `the Host ${JSON.stringify(host.slice(0, 100))} is not served here`, { field: 'Host' });
}

/** Refuses requests that pages of others make a browser send. Programs send no Origin. */
export function checkOrigin(request: FastifyRequest, origins: 'any' | 'loopback' | readonly string[]): void {
  const { origin } = request.headers;
  if (origin === undefined || origins === 'any') return;
  if (origins === 'loopback') {
    try {
      if (LOOPBACK_HOST.test(new URL(origin).hostname)) return;
    } catch {
      // `null`, or nothing that is an origin.
    }
  } else if (origins.includes(origin)) return;
  throw failure(
    'FORBIDDEN',
    `pages of ${JSON.stringify(origin.slice(0, 100))} may not use this server; set an API key, or allow the origin`,
    {
      field: 'Origin',
    },
  );
}

import type { FastifyRequest } from 'fastify';
import { bearerOf, hostNameOf, isLoopbackName, sameDigest, secretDigest } from '../../wire/index.js';
import { failure } from '../failure.js';

/** Makes the check of the bearer token. Digests of equal length are compared in constant time. */
export function tokenCheck(apiKey: string): (request: FastifyRequest) => void {
  const expected = secretDigest(apiKey);
  return (request) => {
    const token = bearerOf(request.raw);
    const matches = sameDigest(secretDigest(token ?? ''), expected);
    if (token !== undefined && matches) return;
    throw failure('UNAUTHORIZED', 'Invalid or missing API key');
  };
}

/** Refuses requests that came under a name that is not this server's: a page's own domain pointed at this address. */
export function checkHost(request: FastifyRequest, hosts: readonly string[]): void {
  const host = hostNameOf(request.headers.host);
  if (hosts.includes(host) || (hosts.includes('loopback') && isLoopbackName(host))) return;
  throw failure('FORBIDDEN', `the Host ${JSON.stringify(host.slice(0, 100))} is not served here`, { field: 'Host' });
}

/** Refuses requests that pages of others make a browser send. Programs send no Origin. */
export function checkOrigin(request: FastifyRequest, origins: 'any' | 'loopback' | readonly string[]): void {
  const { origin } = request.headers;
  if (origin === undefined || origins === 'any') return;
  if (origins === 'loopback') {
    try {
      if (isLoopbackName(new URL(origin).hostname)) return;
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

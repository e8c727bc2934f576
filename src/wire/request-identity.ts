import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isLoopback } from './listen-address.js';

/** What HTTP requests say about themselves, read the same way wherever they arrive. */

const BEARER = /^bearer +([^\s]+) *$/i;

/** The bearer token of a request. Nothing when there is none, or when there are several headers to choose from. */
export function bearerOf({ headers, rawHeaders }: Pick<IncomingMessage, 'headers' | 'rawHeaders'>): string | undefined {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.toLowerCase() === 'authorization') count += 1;
  }
  return count === 1 ? BEARER.exec(headers.authorization ?? '')?.[1] : undefined;
}

/** The host in a `Host` header, in lower case and without its port. Empty when it has none. */
export function hostNameOf(header: string | undefined): string {
  return (/^(\[[^\]]*\]|[^:]*)(?::\d{0,5})?$/.exec(header ?? '')?.[1] ?? '').toLowerCase();
}

/** Tells whether a name in a `Host` header or URL means this machine to itself. */
export function isLoopbackName(name: string): boolean {
  return name.toLowerCase() === 'localhost' || isLoopback(name.replace(/^\[(.*)\]$/, '$1'));
}

/** A digest of a secret: all have the same length, so comparing them tells nothing about the secret's. */
export function secretDigest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Compares two digests in constant time. */
export function sameDigest(one: Buffer, other: Buffer): boolean {
  return timingSafeEqual(one, other);
}

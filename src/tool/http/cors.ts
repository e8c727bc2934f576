import type { FastifyReply, FastifyRequest } from 'fastify';
import { PROTOCOL_VERSION } from '../messages.js';

export const VERSION_HEADER = 'X-TPMJS-Protocol-Version';

/** What every answer carries, errors included, so that pages can read it. */
export const CORS_HEADERS: Readonly<Record<string, string>> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Allow-Methods': 'GET, POST, DELETE, OPTIONS',
  'Access-Control-Allow-Headers': `Content-Type, Authorization, ${VERSION_HEADER}, X-TPMJS-Cache-Control, Idempotency-Key, Last-Event-ID, Accept`,
  'Access-Control-Expose-Headers': `${VERSION_HEADER}, X-TPMJS-Cache, Retry-After, Allow`,
  'Access-Control-Max-Age': '600',
  // One version is spoken here, whatever was asked for.
  [VERSION_HEADER]: PROTOCOL_VERSION,
};

/** Adds them to an answer. */
export function addCors(request: FastifyRequest, reply: FastifyReply, access: 'guarded' | 'open'): void {
  reply.headers(CORS_HEADERS);
  // A page of the internet may reach this network only where a key keeps strangers out.
  if (access === 'guarded' && request.headers['access-control-request-private-network'] === 'true') {
    reply.header('Access-Control-Allow-Private-Network', 'true');
  }
}

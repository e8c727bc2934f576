import type { IncomingMessage } from 'node:http';
import type { FastifyReply } from 'fastify';
import { CORS_HEADERS } from '../../tool/index.js';
import { type AccessRules, isForeign, pathOf } from '../access/judge.js';
import type { KeyRing } from '../access/keys.js';

const READABLE_BY_ALL = new Set(['/health', '/info', '/api/health', '/api/info']);

/**
 * Adds what lets pages read an answer: with a key every page that has it, unless some are named; without one only those that
 * are named, except for what everybody may read.
 */
export function addCors(request: IncomingMessage, reply: FastifyReply, rules: AccessRules, keys: KeyRing): void {
  const { origin } = request.headers;
  const restricted = !keys.required || rules.origins.length > 0;
  if (!restricted || READABLE_BY_ALL.has(pathOf(request))) {
    reply.headers(CORS_HEADERS);
  } else {
    reply.header('Vary', 'Origin');
    if (origin === undefined || isForeign(request, rules.origins)) return;
    reply.headers({ ...CORS_HEADERS, 'Access-Control-Allow-Origin': origin });
  }
  // A page of the internet may reach this network only where a key keeps strangers out.
  if (keys.required && request.headers['access-control-request-private-network'] === 'true') {
    reply.header('Access-Control-Allow-Private-Network', 'true');
  }
}

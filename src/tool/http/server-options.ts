import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyHttpOptions } from 'fastify';
import type { ToolLimits } from '../limits.js';
import type { ErrorResponse } from '../messages.js';
import { CORS_HEADERS } from './cors.js';

/** How long a request may take to arrive, so that slow senders do not hold connections. */
const REQUEST_TIMEOUT_MS = 60_000;
const HEADERS_TIMEOUT_MS = 15_000;
const MAX_HEADER_BYTES = 16 * 1024;

function rawAnswer(status: string, body: ErrorResponse): string {
  const text = JSON.stringify(body);
  const headers = Object.entries(CORS_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${headers.join('')}Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`;
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', `the headers have more than ${MAX_HEADER_BYTES} bytes`]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'the request did not arrive in time']
        : ['400 Bad Request', 'this is not a well-formed HTTP request'];
  socket.end(rawAnswer(status, { success: false, error: { code: 'INVALID_REQUEST', message: reason } }), () =>
    socket.destroy(),
  );
}

/** Options for a fastify server that serves this boundary: limits on what a connection may cost, errors in the protocol's words. */
export function toolServerOptions(limits: ToolLimits): FastifyHttpOptions<Server> {
  return {
    bodyLimit: limits.maxRequestBodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: { maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: HEADERS_TIMEOUT_MS, insecureHTTPParser: false },
    forceCloseConnections: true,
    clientErrorHandler: answerMalformed,
    frameworkErrors: (error, _request, reply) => {
      const body: ErrorResponse = { success: false, error: { code: 'INVALID_REQUEST', message: error.message } };
      reply.hijack();
      reply.raw
        .writeHead(400, { ...CORS_HEADERS, 'Content-Type': 'application/json; charset=utf-8' })
        .end(JSON.stringify(body));
    },
  };
}

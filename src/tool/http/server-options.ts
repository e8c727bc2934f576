import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyHttpOptions } from 'fastify';
import type { ToolLimits } from '../limits.js';
import type { ErrorResponse } from '../messages.js';
import { CORS_HEADERS } from './cors.js';

/** How often connections are checked for senders that are too slow: their time is exceeded by this at most. */
const CHECK_EVERY_MS = 5_000;
const CHECK_MIN_MS = 250;

function rawAnswer(status: string, body: ErrorResponse): string {
  const text = JSON.stringify(body);
  const headers = Object.entries(CORS_HEADERS).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status}\r\n${headers.join('')}Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(text)}\r\nConnection: close\r\n\r\n${text}`;
}

function answerMalformed(error: NodeJS.ErrnoException, socket: Socket, maxHeaderBytes: number): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, reason] =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? ['431 Request Header Fields Too Large', `the headers have more than ${maxHeaderBytes} bytes`]
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? ['408 Request Timeout', 'the request did not arrive in time']
        : ['400 Bad Request', 'this is not a well-formed HTTP request'];
  socket.end(rawAnswer(status, { success: false, error: { code: 'INVALID_REQUEST', message: reason } }), () =>
    socket.destroy(),
  );
}

/** Options for a fastify server that serves this boundary: limits on what a connection may cost, errors in the protocol's words. */
export function toolServerOptions(limits: ToolLimits): FastifyHttpOptions<Server> {
  const { maxHeaderBytes, headersTimeoutMs, requestTimeoutMs } = limits;
  return {
    bodyLimit: limits.maxRequestBodyBytes,
    requestTimeout: requestTimeoutMs,
    http: {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      connectionsCheckingInterval: Math.max(CHECK_MIN_MS, Math.min(CHECK_EVERY_MS, headersTimeoutMs / 2)),
      insecureHTTPParser: false,
      // Node would answer without a body; the check of hosts says why.
      requireHostHeader: false,
    },
    forceCloseConnections: true,
    clientErrorHandler: (error, socket) => answerMalformed(error, socket, maxHeaderBytes),
    frameworkErrors: (error, _request, reply) => {
      const body: ErrorResponse = { success: false, error: { code: 'INVALID_REQUEST', message: error.message } };
      reply.hijack();
      reply.raw
        .writeHead(400, { ...CORS_HEADERS, 'Content-Type': 'application/json; charset=utf-8' })
        .end(JSON.stringify(body));
    },
  };
}

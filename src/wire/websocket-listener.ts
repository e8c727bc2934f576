import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { SallyportError } from '../errors/index.js';
import {
  KEEP_ALIVE_DELAY_MS,
  MAX_CONNECTIONS,
  MAX_HEADER_BYTES,
  SEND_HIGH_WATER_BYTES,
  SPARE_CONNECTIONS,
  UPGRADE_TIMEOUT_MS,
} from './limits.js';
import { formatListenAddress } from './listen-address.js';
import { WEBSOCKET_LIMITS } from './websocket.js';
import { type AdmissionRules, admit } from './websocket-admission.js';

export interface WebSocketListenerOptions extends AdmissionRules {
  /** The port, 0 for any free one. */
  readonly port: number;
  /** Open connections at once; the next one is answered with 503. */
  readonly maxConnections?: number | undefined;
  /** Largest message, in bytes. */
  readonly maxMessageBytes?: number | undefined;
}

/** A WebSocket server that listens. */
export interface WebSocketListener {
  /** What a client connects to, with the real port. */
  readonly url: string;
  readonly port: number;
  /** How many connections are open. */
  readonly connections: number;
  /** Stops listening, says goodbye to every connection, and resolves when the last one is gone. */
  close(reason?: string): Promise<void>;
}

/**
 * Listens for WebSockets. Every check comes before the upgrade: host, origin, path, token, number of connections. Rejects
 * with `WIRE_LISTEN` when the address cannot be used. Each socket belongs to whoever `onSocket` hands it to.
 */
export async function listenWebSocket(
  options: WebSocketListenerOptions,
  onSocket: (socket: WebSocket, request: IncomingMessage) => void,
): Promise<WebSocketListener> {
  const maxConnections = options.maxConnections ?? MAX_CONNECTIONS;
  const sockets = new WebSocketServer({
    ...WEBSOCKET_LIMITS,
    maxPayload: options.maxMessageBytes ?? WEBSOCKET_LIMITS.maxPayload,
    noServer: true,
    // A pong for each ping would pile up for a peer that floods and never reads.
    autoPong: false,
    // A token must not travel as a subprotocol, where it is logged; none is ever agreed on.
    handleProtocols: () => false,
  });
  const server = createServer(
    {
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: UPGRADE_TIMEOUT_MS,
      requestTimeout: UPGRADE_TIMEOUT_MS,
      connectionsCheckingInterval: UPGRADE_TIMEOUT_MS / 4,
      // Finds out about peers that vanished without a word, and leaves alone those that are merely slow to read.
      keepAlive: true,
      keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
      noDelay: true,
    },
    (_request, response) => {
      response.writeHead(426, { connection: 'close', upgrade: 'websocket', 'content-type': 'text/plain' });
      response.end('This port speaks WebSocket only.\n');
    },
  );
  server.maxConnections = maxConnections + SPARE_CONNECTIONS;
  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    stream.on('error', () => stream.destroy());
    const admission = admit(request, options);
    if (!admission.ok) return refuse(stream, admission.status, admission.message);
    if (sockets.clients.size >= maxConnections) return refuse(stream, 503, 'too many connections');
    sockets.handleUpgrade(request, stream, head, (socket) => {
      socket.on('ping', (data) => {
        if (socket.bufferedAmount < SEND_HIGH_WATER_BYTES) socket.pong(data);
      });
      onSocket(socket, request);
    });
  });
  const address = await listening(server, options);
  return {
    url: formatListenAddress({ host: options.host, port: address.port }),
    port: address.port,
    get connections() {
      return sockets.clients.size;
    },
    close: (reason) => close(server, sockets, reason),
  };
}

function refuse(stream: Duplex, status: number, message: string): void {
  const body = `${message}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: text/plain',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
  ];
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}

function listening(server: Server, { host, port }: WebSocketListenerOptions): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      const where = formatListenAddress({ host, port });
      const reason = error.code === 'EADDRINUSE' ? 'the port is taken' : error.message;
      reject(new SallyportError('WIRE_LISTEN', `cannot listen on ${where}: ${reason}`, {}, { cause: error }));
    };
    server.once('error', onError);
    server.listen({ host, port }, () => {
      server.off('error', onError);
      const address = server.address();
      if (address !== null && typeof address === 'object') resolve(address);
    });
  });
}

async function close(server: Server, sockets: WebSocketServer, reason = 'the server is going away'): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  for (const socket of sockets.clients) {
    // A paused socket would never see the peer's half of the closing handshake.
    socket.resume();
    socket.close(1001, reason);
  }
  server.closeIdleConnections();
  // `ws` destroys a socket whose peer does not answer the goodbye in time.
  await closed;
}

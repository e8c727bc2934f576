import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { SallyportError } from '../errors/index.js';
import {
  KEEP_ALIVE_DELAY_MS,
  MAX_CONNECTIONS,
  MAX_HEADER_BYTES,
  SPARE_CONNECTIONS,
  UPGRADE_TIMEOUT_MS,
} from './limits.js';
import { formatListenAddress } from './listen-address.js';
import { type AdmissionRules, admit } from './websocket-admission.js';
import { createUpgrader, refuseUpgrade, type Upgrader } from './websocket-upgrade.js';

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
  const { maxMessageBytes } = options;
  const upgrader = createUpgrader(maxMessageBytes === undefined ? {} : { maxMessageBytes });
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
    const admission = admit(request, options);
    if (!admission.ok) return refuseUpgrade(stream, admission.status, admission.message);
    if (upgrader.clients.size >= maxConnections) return refuseUpgrade(stream, 503, 'too many connections');
    upgrader.upgrade(request, stream, head, onSocket);
  });
  const address = await listening(server, options);
  return {
    url: formatListenAddress({ host: options.host, port: address.port }),
    port: address.port,
    get connections() {
      return upgrader.clients.size;
    },
    close: (reason) => close(server, upgrader, reason),
  };
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

async function close(server: Server, upgrader: Upgrader, reason = 'the server is going away'): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  upgrader.closeAll(reason);
  // Those that are no WebSockets yet: a peer that connects and says nothing, or half a request, is not waited for.
  server.closeAllConnections();
  // `ws` destroys a socket whose peer does not answer the goodbye in time.
  await closed;
}

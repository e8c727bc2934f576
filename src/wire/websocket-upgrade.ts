import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { SEND_HIGH_WATER_BYTES } from './limits.js';
import { WEBSOCKET_LIMITS } from './websocket.js';

export interface UpgraderOptions {
  /** Largest message, in bytes. */
  readonly maxMessageBytes?: number;
  /** The one subprotocol that is agreed on when a client offers it. None, unless named. */
  readonly subprotocol?: string;
}

/** Turns connections of an HTTP server into WebSockets, once they were admitted. */
export interface Upgrader {
  /** The open ones. */
  readonly clients: ReadonlySet<WebSocket>;
  upgrade(
    request: IncomingMessage,
    stream: Duplex,
    head: Buffer,
    onSocket: (socket: WebSocket, request: IncomingMessage) => void,
  ): void;
  /** Says goodbye to all. A socket whose peer does not answer in time is destroyed. */
  closeAll(reason: string): void;
  /** Ends all, now. */
  terminateAll(): void;
}

/** Makes an upgrader. */
export function createUpgrader({ maxMessageBytes, subprotocol }: UpgraderOptions): Upgrader {
  const sockets = new WebSocketServer({
    ...WEBSOCKET_LIMITS,
    maxPayload: maxMessageBytes ?? WEBSOCKET_LIMITS.maxPayload,
    noServer: true,
    // A pong for each ping would pile up for a peer that floods and never reads.
    autoPong: false,
    // What a client offers may hold a token, which is never said back.
    handleProtocols: (offered) => (subprotocol !== undefined && offered.has(subprotocol) ? subprotocol : false),
  });
  return {
    clients: sockets.clients,
    upgrade(request, stream, head, onSocket) {
      stream.on('error', () => stream.destroy());
      sockets.handleUpgrade(request, stream, head, (socket) => {
        socket.on('ping', (data) => {
          if (socket.bufferedAmount < SEND_HIGH_WATER_BYTES) socket.pong(data);
        });
        onSocket(socket, request);
      });
    },
    closeAll(reason) {
      for (const socket of sockets.clients) {
        // A paused socket would never see the peer's half of the closing handshake.
        socket.resume();
        socket.close(1001, reason);
      }
    },
    terminateAll() {
      for (const socket of sockets.clients) socket.terminate();
    },
  };
}

/** Answers an upgrade request with an error, and hangs up. */
export function refuseUpgrade(
  stream: Duplex,
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  stream.on('error', () => stream.destroy());
  const body = `${message}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Connection: close',
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    ...(status === 401 ? ['WWW-Authenticate: Bearer'] : []),
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  stream.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => stream.destroy());
}

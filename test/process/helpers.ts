import { onTestFinished } from 'vitest';
import { createExecServer, type ExecServer, type ExecServerOptions } from '../../src/process/index.js';
import { listenWebSocket, memoryPair, webSocketTransport } from '../../src/wire/index.js';
import { RawClient } from './raw-client.js';

/** A server in this process, which ends with the test. */
export function ownServer(options: ExecServerOptions = {}): ExecServer {
  const server = createExecServer(options);
  onTestFinished(() => server.dispose());
  return server;
}

/** The same, listening on WebSocket. */
export async function ownListener(options: ExecServerOptions = {}): Promise<{ server: ExecServer; url: string }> {
  const server = ownServer(options);
  const listener = await listenWebSocket({ host: '127.0.0.1', port: 0 }, (socket) => {
    server.serveConnection(webSocketTransport(socket, server.transportOptions));
  });
  onTestFinished(() => listener.close());
  return { server, url: listener.url };
}

/** A raw client of a server in this process, over a pair in memory. */
export function rawPair(server: ExecServer): RawClient {
  const [near, far] = memoryPair<unknown, unknown>();
  server.serveConnection(far);
  return new RawClient(
    (text) => void near.send(JSON.parse(text)),
    () => near.close(),
    (onText, onClose) => {
      near.onMessage((message) => onText(JSON.stringify(message)));
      near.onClose(({ message }) => onClose(message));
    },
  );
}

import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { HostPattern } from '../host-pattern.js';
import { PROXY_CONNECTIONS_MAX } from '../limits.js';
import { hostPatterns, type NetworkPolicy } from '../policy.js';
import { serveClient } from './client.js';
import { Gate, type ProxyDecision, type Resolver } from './gate.js';
import { SocketFolder } from './socket-folder.js';

/** A forward proxy for one execution. */
export interface ForwardProxy {
  /** The path of the socket that it listens on. */
  readonly socket: string;
  readonly hosts: readonly HostPattern[];
  close(): Promise<void>;
}

/** The sockets of all proxies of this process are in one folder, which is there for as long as any of them is. */
const sockets = new SocketFolder();

/** Opens a proxy that lets through what a network policy allows. */
export async function openProxy(
  network: NetworkPolicy,
  onDecision: (decision: ProxyDecision) => void = () => {},
  resolve?: Resolver,
): Promise<ForwardProxy> {
  const gate = new Gate(hostPatterns(network), network.kind === 'full' ? 'allowed' : 'refused', resolve);
  const socket = sockets.take();
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    // Whoever listens to decisions may throw; that costs the connection, and nobody else.
    serveClient(client, gate, onDecision).catch(() => client.destroy());
  });
  server.maxConnections = PROXY_CONNECTIONS_MAX;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    server.close();
    for (const client of clients) client.destroy();
    closing ??= sockets.give();
    return closing;
  };
  try {
    server.listen(socket);
    await once(server, 'listening');
  } catch (error) {
    await close();
    throw error;
  }
  // Running out of handles refuses a connection; it must not end the server.
  server.on('error', () => {});
  // Whoever waits for an execution holds its child; the proxy alone is no reason to stay.
  server.unref();
  return { socket, hosts: gate.hosts, close };
}

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { rm, rmdir } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostPattern } from '../host-pattern.js';
import { PROXY_CONNECTIONS_MAX } from '../limits.js';
import { hostPatterns, type NetworkPolicy } from '../policy.js';
import { serveClient } from './client.js';
import { Gate, type ProxyDecision, type Resolver } from './gate.js';

/** A forward proxy for one execution. */
export interface ForwardProxy {
  /** The path of the socket that it listens on. */
  readonly socket: string;
  readonly hosts: readonly HostPattern[];
  close(): Promise<void>;
}

/** The kernel takes no longer path for a socket. */
const SOCKET_PATH_BYTES = 107;
const PREFIX = 'sallyport-proxy-';
let swept = false;

function socketFolder(): string {
  const name = `${PREFIX}${process.pid}-${randomBytes(8).toString('hex')}`;
  const roomy = join(tmpdir(), name, 's').length <= SOCKET_PATH_BYTES;
  return join(roomy ? tmpdir() : '/tmp', name);
}

/** Removes folders that a program before us left, which was killed before it could. */
function sweep(): void {
  if (swept) return;
  swept = true;
  for (const name of readdirSync(tmpdir())) {
    const owner = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (owner !== undefined && !existsSync(`/proc/${owner}`))
      rmSync(join(tmpdir(), name), { recursive: true, force: true });
  }
}

/** Opens a proxy that lets through what a network policy allows. */
export async function openProxy(
  network: NetworkPolicy,
  onDecision: (decision: ProxyDecision) => void = () => {},
  resolve?: Resolver,
): Promise<ForwardProxy> {
  sweep();
  const gate = new Gate(hostPatterns(network), network.kind === 'full' ? 'allowed' : 'refused', resolve);
  const folder = socketFolder();
  mkdirSync(folder, { mode: 0o700 });
  const socket = join(folder, 's');
  const clients = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once('close', () => clients.delete(client));
    // Whoever listens to decisions may throw; that costs the connection, and nobody else.
    serveClient(client, gate, onDecision).catch(() => client.destroy());
  });
  server.maxConnections = PROXY_CONNECTIONS_MAX;
  const close = async (): Promise<void> => {
    server.close();
    for (const client of clients) client.destroy();
    // With the server its socket is gone, unless it never listened.
    await rmdir(folder).catch(() => rm(folder, { recursive: true, force: true }));
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

import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

/** Where the kernel takes the ports from that nobody asks for by number; the first of them. */
const EPHEMERAL_FROM = Number.parseInt(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8'), 10);
const LOWEST = 10_000;

/**
 * A port that is free, for a server that has to be told its port. It is none that the kernel would give to somebody else's
 * connection before that server listens.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = LOWEST + Math.floor(Math.random() * (EPHEMERAL_FROM - LOWEST));
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!free) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}

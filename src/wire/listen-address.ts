import { isIP, isIPv6 } from 'node:net';

/** Where a WebSocket server listens: a literal address and a port, 0 for any free one. */
export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

export type ParsedListenAddress =
  | { readonly ok: true; readonly address: ListenAddress }
  | { readonly ok: false; readonly message: string };

const SHAPE = /^ws:\/\/(?:\[([^\]]*)\]|([^:/[\]]*)):(\d{1,5})\/?$/;

/** Reads `ws://IP:PORT`. The address must be a literal one: a name could mean another machine tomorrow. */
export function parseListenAddress(text: string): ParsedListenAddress {
  const refuse = (problem: string): ParsedListenAddress => ({
    ok: false,
    message: `${JSON.stringify(text)} ${problem}; expected ws://IP:PORT, such as ws://127.0.0.1:8080`,
  });
  const match = SHAPE.exec(text);
  if (match === null) return refuse('is not an address to listen on');
  const [, bracketed, plain, digits] = match;
  const host = bracketed ?? plain ?? '';
  const version = isIP(host);
  if (version === 0 || (version === 6) !== (bracketed !== undefined)) return refuse('has no literal IP address');
  const port = Number(digits);
  if (port > 65_535) return refuse('has a port above 65535');
  return { ok: true, address: { host, port } };
}

/** Writes an address as the URL that a client connects to. */
export function formatListenAddress({ host, port }: ListenAddress): string {
  return `ws://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** Tells whether only this machine can reach a literal address. */
export function isLoopback(host: string): boolean {
  return host === '::1' || host === '::ffff:127.0.0.1' || (isIP(host) === 4 && host.startsWith('127.'));
}

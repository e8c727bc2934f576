import { connect, type Socket } from 'node:net';
import { PROXY_CONNECT_MS, PROXY_HEAD_BYTES, PROXY_HEAD_MS, PROXY_IDLE_MS } from '../limits.js';
import type { Gate, ProxyDecision } from './gate.js';
import { readHttpHead } from './http-head.js';
import { readSocksGreeting, readSocksRequest, SOCKS_REPLY, socksReply } from './socks5.js';

/** How a client is told, in its own protocol, and what the server is to hear first. */
interface Errand {
  readonly protocol: ProxyDecision['protocol'];
  readonly host: string;
  readonly port: number;
  readonly granted: Buffer;
  readonly refused: (reason: string) => Buffer;
  readonly unreachable: (reason: string) => Buffer;
  readonly first: Buffer;
}

type Report = (decision: ProxyDecision) => void;

const SOCKS_FIRST_BYTE = 5;

function httpAnswer(status: string, reason: string): Buffer {
  const body = `sallyport: ${reason.replace(/[^\x20-\x7e]/g, '?')}\n`;
  return Buffer.from(
    `HTTP/1.1 ${status}\r\nContent-Type: text/plain\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
  );
}

/**
 * Serves one connection:
 *
 *     head (HTTP, or SOCKS by its first byte) ──▶ judged ──▶ dialled ──▶ joined, until both sides have ended
 *          └─ too long, too late, unreadable        └─ refused   └─ unreachable: told so, closed
 */
export async function serveClient(client: Socket, gate: Gate, report: Report): Promise<void> {
  client.on('error', () => client.destroy());
  client.setTimeout(PROXY_HEAD_MS, () => client.destroy());
  const errand = await readErrand(client);
  if (errand === undefined || client.destroyed) return;
  const { protocol, host, port } = errand;
  const passage = await gate.judge(host, port);
  if (!passage.ok) {
    report({ verdict: 'refused', protocol, host, port, reason: passage.reason });
    client.end(errand.refused(passage.reason));
    return;
  }
  report({ verdict: 'allowed', protocol, host, port, address: passage.address, reason: passage.reason });
  if (client.destroyed) return;
  dial(client, passage.address, errand);
}

/** Dials the address that was judged, never the name. */
function dial(client: Socket, address: string, errand: Errand): void {
  const server = connect({ host: address, port: errand.port, allowHalfOpen: true });
  let joined = false;
  server.setTimeout(PROXY_CONNECT_MS, () => server.destroy(new Error('it took too long')));
  server.once('connect', () => {
    joined = true;
    for (const side of [client, server]) side.setTimeout(PROXY_IDLE_MS, () => side.destroy());
    client.write(errand.granted);
    server.write(errand.first);
    client.pipe(server);
    server.pipe(client);
  });
  server.on('error', (error) => {
    if (joined) client.destroy();
    else client.end(errand.unreachable(error.message));
  });
  server.once('close', () => {
    if (joined) client.end();
  });
  client.once('close', () => server.destroy());
}

/** Reads until it is known what the client wants. Nothing when it cannot be told, and the client was told so. */
function readErrand(client: Socket): Promise<Errand | undefined> {
  return new Promise((resolve) => {
    let bytes: Buffer = Buffer.alloc(0);
    let greeted = false;
    const settle = (errand: Errand | undefined, rest: Buffer): void => {
      client.off('data', take);
      client.off('end', endedEarly);
      client.pause();
      if (rest.length > 0) client.unshift(rest);
      resolve(errand);
    };
    const refuse = (answer: Buffer): void => {
      client.end(answer);
      settle(undefined, Buffer.alloc(0));
    };
    const takeSocks = (): void => {
      if (!greeted) {
        const step = readSocksGreeting(bytes);
        if (step.kind === 'bad') return refuse(step.reply);
        if (step.kind !== 'greeting') return;
        greeted = true;
        client.write(step.reply);
        bytes = bytes.subarray(step.bytes);
      }
      const step = readSocksRequest(bytes);
      if (step.kind === 'bad') return refuse(step.reply);
      if (step.kind === 'request') settle(socksErrand(step.host, step.port), bytes.subarray(step.bytes));
    };
    const takeHttp = (): void => {
      const end = bytes.indexOf('\r\n\r\n');
      if (end < 0) {
        if (bytes.length > PROXY_HEAD_BYTES)
          refuse(httpAnswer('431 Request Header Fields Too Large', 'the head is too long'));
        return;
      }
      const ask = readHttpHead(bytes.toString('latin1', 0, end));
      if (ask.kind === 'bad') return refuse(httpAnswer('400 Bad Request', ask.reason));
      const { host, port } = ask;
      const head = ask.kind === 'http' ? Buffer.from(ask.head, 'latin1') : Buffer.alloc(0);
      const protocol = ask.kind;
      settle(httpErrand({ protocol, host, port, head }), bytes.subarray(end + 4));
    };
    const take = (chunk: Buffer): void => {
      bytes = Buffer.concat([bytes, chunk]);
      if (greeted || bytes[0] === SOCKS_FIRST_BYTE) takeSocks();
      else takeHttp();
    };
    client.on('data', take);
    client.once('close', () => resolve(undefined));
    const endedEarly = (): void => {
      resolve(undefined);
      client.destroy();
    };
    client.once('end', endedEarly);
  });
}

function socksErrand(host: string, port: number): Errand {
  return {
    protocol: 'socks5',
    host,
    port,
    granted: socksReply(SOCKS_REPLY.granted),
    refused: () => socksReply(SOCKS_REPLY.refused),
    unreachable: () => socksReply(SOCKS_REPLY.failure),
    first: Buffer.alloc(0),
  };
}

function httpErrand(ask: { protocol: 'connect' | 'http'; host: string; port: number; head: Buffer }): Errand {
  return {
    protocol: ask.protocol,
    host: ask.host,
    port: ask.port,
    granted: Buffer.from(ask.protocol === 'connect' ? 'HTTP/1.1 200 Connection established\r\n\r\n' : ''),
    refused: (reason) => httpAnswer('403 Forbidden', reason),
    unreachable: (reason) => httpAnswer('502 Bad Gateway', `the host cannot be reached: ${reason}`),
    first: ask.head,
  };
}

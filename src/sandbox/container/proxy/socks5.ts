/** How far a client of SOCKS5 has come, and how many bytes that took. */
export type SocksStep =
  | { readonly kind: 'more' }
  | { readonly kind: 'bad'; readonly reason: string; readonly reply: Buffer }
  | { readonly kind: 'greeting'; readonly bytes: number; readonly reply: Buffer }
  | { readonly kind: 'request'; readonly bytes: number; readonly host: string; readonly port: number };

const VERSION = 5;
const NO_AUTHENTICATION = 0;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;

/** What a request is answered with. */
export const SOCKS_REPLY = { granted: 0, failure: 1, refused: 2, commandUnknown: 7, addressUnknown: 8 } as const;

/** Writes the answer to a request. The address in it is of no use to anybody. */
export function socksReply(code: number): Buffer {
  return Buffer.from([VERSION, code, 0, IPV4, 0, 0, 0, 0, 0, 0]);
}

const more: SocksStep = { kind: 'more' };
const bad = (reason: string, reply: Buffer): SocksStep => ({ kind: 'bad', reason, reply });

/** Reads the greeting: which ways to authenticate the client knows. */
export function readSocksGreeting(bytes: Buffer): SocksStep {
  const count = bytes[1];
  if (count === undefined || bytes.length < 2 + count) return more;
  if (bytes.subarray(2, 2 + count).includes(NO_AUTHENTICATION)) {
    return { kind: 'greeting', bytes: 2 + count, reply: Buffer.from([VERSION, NO_AUTHENTICATION]) };
  }
  return bad('the client wants to authenticate', Buffer.from([VERSION, 0xff]));
}

function ipv6(bytes: Buffer): string {
  return Array.from({ length: 8 }, (_, index) => bytes.readUInt16BE(2 * index).toString(16)).join(':');
}

/** Reads the request: where to. */
export function readSocksRequest(bytes: Buffer): SocksStep {
  const [version, command, , type, first] = bytes;
  if (type === undefined || first === undefined) return more;
  if (version !== VERSION) return bad('the version is not 5', socksReply(SOCKS_REPLY.failure));
  if (command !== CONNECT) return bad('only CONNECT is offered', socksReply(SOCKS_REPLY.commandUnknown));
  const start = type === NAME ? 5 : 4;
  const length = type === IPV4 ? 4 : type === IPV6 ? 16 : type === NAME ? first : undefined;
  if (length === undefined) return bad('the kind of address is unknown', socksReply(SOCKS_REPLY.addressUnknown));
  const end = start + length;
  if (bytes.length < end + 2) return more;
  const field = bytes.subarray(start, end);
  const host = type === IPV4 ? field.join('.') : type === IPV6 ? ipv6(field) : field.toString('latin1');
  return { kind: 'request', bytes: end + 2, host, port: bytes.readUInt16BE(end) };
}

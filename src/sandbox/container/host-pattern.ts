import { isIPv4, isIPv6 } from 'node:net';
import { canonicalAddress, looksNumeric } from './addresses.js';

/** One `host:port` of an allow-list: a name, a name with everything below it (`*.example.com`), or an address. */
export interface HostPattern {
  readonly kind: 'name' | 'below' | 'address';
  /** In lower case and without the dot at the end; an address in its one canonical spelling. */
  readonly host: string;
  readonly port: number;
}

export type ParsedPattern =
  | { readonly ok: true; readonly pattern: HostPattern }
  | { readonly ok: false; readonly reason: string };

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
const NAME_MAX = 253;

const no = (reason: string): ParsedPattern => ({ ok: false, reason });

/** Brings a name into the one form that is compared: lower case, no dot at the end. Nothing when it is none. */
export function canonicalName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, '');
  if (name.length === 0 || name.length > NAME_MAX) return undefined;
  return name.split('.').every((label) => LABEL.test(label)) ? name : undefined;
}

/** Reads one entry of an allow-list. What could be read as more than it says is refused. */
export function parseHostPattern(text: string): ParsedPattern {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]*)\]|([^:[\]]*)):([0-9]+)$/.exec(text) ?? [];
  if (digits === undefined) return no('must be host:port with one port number, such as example.com:443');
  const port = Number(digits);
  if (digits.startsWith('0') || port > 65_535) return no(`must have a port from 1 to 65535, not ${digits}`);
  if (bracketed !== undefined) {
    const address = isIPv6(bracketed) ? canonicalAddress(bracketed) : undefined;
    if (address === undefined) return no('must have an IPv6 address between the brackets, without a zone');
    if (isIPv4(address)) return no(`is an IPv4 address in disguise: write ${address}:${port}`);
    return { ok: true, pattern: { kind: 'address', host: address, port } };
  }
  const host = plain ?? '';
  if (isIPv4(host)) return { ok: true, pattern: { kind: 'address', host, port } };
  const below = host.startsWith('*.');
  const name = below ? host.slice(2) : host;
  if (name.includes('*')) return no('may have a * only as its whole first label, such as *.example.com:443');
  if (looksNumeric(name)) return no('must have an IPv4 address as four decimal numbers without leading zeros');
  const canonical = canonicalName(name);
  if (canonical === undefined) return no('must have a host name in ASCII letters, digits, hyphens and dots');
  if (below && !canonical.includes('.')) return no('would cover a whole top-level domain: name what is below it');
  return { ok: true, pattern: { kind: below ? 'below' : 'name', host: canonical, port } };
}

/** Tells whether a pattern covers a host, which is in its canonical form, and a port. */
export function covers(pattern: HostPattern, host: string, port: number): boolean {
  if (pattern.port !== port) return false;
  if (pattern.kind === 'below') return host.endsWith(`.${pattern.host}`);
  return pattern.host === host;
}

/** Tells whether every host that one pattern covers is covered by another. */
export function within(inner: HostPattern, outer: HostPattern): boolean {
  if (inner.port !== outer.port) return false;
  if (inner.kind !== 'below') {
    if ((inner.kind === 'address') !== (outer.kind === 'address')) return false;
    return covers(outer, inner.host, inner.port);
  }
  return outer.kind === 'below' && (inner.host === outer.host || inner.host.endsWith(`.${outer.host}`));
}

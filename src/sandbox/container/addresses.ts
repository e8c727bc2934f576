import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** Blocks that are not the public internet, with what they are. */
const SPECIAL: readonly (readonly [name: string, block: string, bits: number])[] = [
  ['this host', '0.0.0.0', 8],
  ['private', '10.0.0.0', 8],
  ['shared between providers', '100.64.0.0', 10],
  ['loopback', '127.0.0.0', 8],
  ['link-local or metadata', '169.254.0.0', 16],
  ['private', '172.16.0.0', 12],
  ['reserved', '192.0.0.0', 24],
  ['documentation', '192.0.2.0', 24],
  ['6to4 relay', '192.88.99.0', 24],
  ['private', '192.168.0.0', 16],
  ['benchmarks', '198.18.0.0', 15],
  ['documentation', '198.51.100.0', 24],
  ['documentation', '203.0.113.0', 24],
  ['multicast', '224.0.0.0', 4],
  ['reserved or broadcast', '240.0.0.0', 4],
  // A metadata service of a provider lives at a public-looking address.
  ['metadata', '168.63.129.16', 32],
  ['unspecified or loopback', '::', 96],
  ['translated', '64:ff9b:1::', 48],
  ['discard', '100::', 64],
  ['reserved', '2001::', 23],
  ['documentation', '2001:db8::', 32],
  ['6to4', '2002::', 16],
  ['documentation', '3fff::', 20],
  ['segment routing', '5f00::', 16],
  ['private or metadata', 'fc00::', 7],
  ['link-local', 'fe80::', 10],
  ['site-local', 'fec0::', 10],
  ['multicast', 'ff00::', 8],
];

const blocks = SPECIAL.map(([name, block, bits]) => {
  const list = new BlockList();
  list.addSubnet(block, bits, block.includes(':') ? 'ipv6' : 'ipv4');
  return { name, list, family: block.includes(':') ? ('ipv6' as const) : ('ipv4' as const) };
});

/** The eight groups of an IPv6 address. */
function groups(address: string): number[] {
  // The parser of URLs writes all spellings in one form, an IPv4 tail included.
  const text = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const read = (part: string): number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const first = read(head);
  const last = tail === undefined ? [] : read(tail);
  return [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.');

/**
 * The one spelling of an address. An IPv4 address inside an IPv6 one (mapped, or translated by NAT64) is the IPv4
 * address: that is where the packets go. Nothing for what is no address, or has a zone.
 */
export function canonicalAddress(text: string): string | undefined {
  if (isIPv4(text)) return text;
  if (!isIPv6(text) || text.includes('%')) return undefined;
  const all = groups(text);
  const [a, b, c, d, e, f, g = 0, h = 0] = all;
  const zeros = [c, d, e].every((group) => group === 0);
  if (a === 0 && b === 0 && zeros && f === 0xffff) return dotted(g, h);
  if (a === 0x64 && b === 0xff9b && zeros && f === 0) return dotted(g, h);
  return new URL(`http://[${text}]/`).hostname.slice(1, -1);
}

/** What an address is when it is not one of the public internet. */
export function specialAddress(address: string): string | undefined {
  const canonical = canonicalAddress(address);
  if (canonical === undefined) return 'no address';
  const family = isIPv4(canonical) ? 'ipv4' : 'ipv6';
  return blocks.find((block) => block.family === family && block.list.check(canonical, family))?.name;
}

/** Tells whether resolvers and C libraries would read a name as a number: `2130706433`, `0x7f.1`, `0177.0.0.1`, `127.1`. */
export function looksNumeric(host: string): boolean {
  const last = host.toLowerCase().replace(/\.$/, '').split('.').at(-1) ?? '';
  return /^(?:[0-9]+|0x[0-9a-f]*)$/.test(last);
}

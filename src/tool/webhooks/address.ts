import { BlockList, isIP } from 'node:net';

/** Networks that only a machine's neighbours can reach, or that lead there. */
const PRIVATE_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** The same for IPv6; those that carry an IPv4 address inside (NAT64, 6to4, Teredo) lead anywhere. */
const PRIVATE_V6 = [
  '::/96',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '100::/64',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
  '5f00::/16',
  'fc00::/7',
  'fe80::/10',
  'fec0::/10',
  'ff00::/8',
];

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const version = isIP(address);
    if (version === 0) continue;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

const PRIVATE = listOf([...PRIVATE_V4, ...PRIVATE_V6]);

/** The IPv4 address inside `::ffff:a.b.c.d`, however it is written. */
function unmapped(address: string): string {
  const bare = address.split('%', 1)[0] ?? address;
  if (isIP(bare) !== 6) return bare;
  const canonical = new URL(`http://[${bare}]/`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical);
  if (mapped === null) return bare;
  const high = Number.parseInt(mapped[1] ?? '0', 16);
  const low = Number.parseInt(mapped[2] ?? '0', 16);
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Decides which addresses webhooks may reach. */
export class AddressPolicy {
  readonly #allowed: BlockList;
  readonly #hosts: ReadonlySet<string>;

  /** `allow` lists hosts, addresses and networks that may be reached although they are private. */
  constructor(allow: readonly string[]) {
    this.#allowed = listOf(allow.filter((entry) => isIP(entry.split('/', 1)[0] ?? '') !== 0));
    this.#hosts = new Set(allow.map((entry) => entry.toLowerCase()));
  }

  /** Whether a name that only this network knows was allowed by name. */
  permitsName(host: string): boolean {
    return this.#hosts.has(host.toLowerCase());
  }

  /** Whether an address, found for a host, may be dialled. */
  permits(address: string, host: string): boolean {
    const plain = unmapped(address);
    const version = isIP(plain);
    if (version === 0) return false;
    const family = version === 4 ? 'ipv4' : 'ipv6';
    if (!PRIVATE.check(plain, family)) return true;
    return this.#hosts.has(host.toLowerCase()) || this.#allowed.check(plain, family);
  }
}

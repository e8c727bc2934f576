import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { canonicalAddress, looksNumeric, specialAddress } from '../addresses.js';
import { canonicalName, covers, type HostPattern } from '../host-pattern.js';
import { PROXY_RESOLVE_MS } from '../limits.js';

/** One decision of the proxy, for the log. */
export interface ProxyDecision {
  readonly verdict: 'allowed' | 'refused';
  readonly protocol: 'connect' | 'http' | 'socks5';
  /** As the client wrote it: escape it before showing it. */
  readonly host: string;
  readonly port: number;
  /** The address that is dialled, when it came to that. */
  readonly address?: string;
  readonly reason: string;
}

export type Passage =
  | { readonly ok: true; readonly address: string; readonly reason: string }
  | { readonly ok: false; readonly reason: string };

/** Finds the addresses of a name. */
export type Resolver = (name: string) => Promise<readonly string[]>;

async function systemResolver(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true, order: 'verbatim' });
  return found.map(({ address }) => address);
}

const no = (reason: string): Passage => ({ ok: false, reason });

async function withDeadline<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('it took too long')), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Decides where connections may go. A name is resolved once, and the address that was checked is the one that is dialled,
 * so an answer that changes in between changes nothing. The name must be allowed, and so must the address: the
 * public ones are, all others only if they are on the list themselves.
 */
export class Gate {
  readonly hosts: readonly HostPattern[];
  readonly #unlisted: 'refused' | 'allowed';
  readonly #resolve: Resolver;

  constructor(hosts: readonly HostPattern[], unlisted: 'refused' | 'allowed', resolve: Resolver = systemResolver) {
    this.hosts = hosts;
    this.#unlisted = unlisted;
    this.#resolve = resolve;
  }

  async judge(text: string, port: number): Promise<Passage> {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) return no('the port is not one');
    if (isIP(text) !== 0) {
      const address = canonicalAddress(text);
      return address === undefined ? no('addresses with a zone are not allowed') : this.#judgeAddress(address, port);
    }
    if (looksNumeric(text)) return no('an address must be written as four decimal numbers');
    const name = canonicalName(text);
    if (name === undefined) return no('the host is not a name');
    if (!this.#listed(name, port) && this.#unlisted === 'refused') return no('the name is not on the list');
    let addresses: readonly string[];
    try {
      addresses = await withDeadline(this.#resolve(name), PROXY_RESOLVE_MS);
    } catch (error) {
      return no(`the name does not resolve: ${error instanceof Error ? error.message : String(error)}`);
    }
    return this.#judgeAnswer(name, addresses, port);
  }

  #listed(host: string, port: number): boolean {
    return this.hosts.some((pattern) => covers(pattern, host, port));
  }

  #judgeAddress(address: string, port: number): Passage {
    const special = specialAddress(address);
    if (this.#listed(address, port)) return { ok: true, address, reason: 'the address is on the list' };
    if (this.#unlisted === 'refused') return no('the address is not on the list');
    if (special !== undefined) return no(`the address is not public (${special}), and not on the list`);
    return { ok: true, address, reason: 'the address is public' };
  }

  #judgeAnswer(name: string, answer: readonly string[], port: number): Passage {
    let obstacle = 'the name has no address';
    for (const raw of answer) {
      const address = canonicalAddress(raw);
      if (address === undefined) continue;
      const special = specialAddress(address);
      // This one name stands for the loopback everywhere: who lists it means it.
      const meant = name === 'localhost' && special?.includes('loopback') === true && this.#listed(name, port);
      if (special === undefined || meant || this.#listed(address, port)) {
        return { ok: true, address, reason: 'the name and its address are allowed' };
      }
      obstacle = `the name leads to ${address} (${special}), which is not public and not on the list itself`;
    }
    return no(obstacle);
  }
}

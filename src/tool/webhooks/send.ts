import { lookup } from 'node:dns/promises';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import type { AddressPolicy } from './address.js';

export type Delivery =
  | { readonly ok: true; readonly status: number }
  | { readonly ok: false; readonly reason: string; readonly status?: number };

interface Address {
  readonly address: string;
  readonly family: number;
}

/** Finds the addresses of a host and keeps those that may be reached. */
async function permitted(host: string, policy: AddressPolicy): Promise<readonly Address[]> {
  const bare = host.startsWith('[') ? host.slice(1, -1) : host;
  const version = isIP(bare);
  const found =
    version === 0 ? await lookup(bare, { all: true, verbatim: true }) : [{ address: bare, family: version }];
  return found.filter(({ address }) => policy.permits(address, bare));
}

/** Says why a webhook cannot go to a URL as it is written, or nothing. Names are looked up again when it is sent. */
export function urlProblem(url: string, policy: AddressPolicy): string | undefined {
  const { protocol, hostname, username, password } = new URL(url);
  if (protocol !== 'https:' && protocol !== 'http:') return 'must be an http or https address';
  if (username !== '' || password !== '') return 'must not hold a user name or password';
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0 && !policy.permits(bare, bare))
    return `leads to ${bare}, which is a private or reserved address`;
  if (/^(localhost|.*\.localhost|.*\.local|.*\.internal)\.?$/i.test(bare) && !policy.permitsName(bare))
    return `leads to ${bare}, which is a private name`;
  return undefined;
}

/** Posts a webhook once. The address that was checked is the one that is dialled; redirects are not followed. */
export async function sendWebhook(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  policy: AddressPolicy,
  timeoutMs: number,
): Promise<Delivery> {
  const target = new URL(url);
  let addresses: readonly Address[];
  try {
    addresses = await permitted(target.hostname, policy);
  } catch {
    return { ok: false, reason: `the host ${target.hostname} cannot be found` };
  }
  const [address] = addresses;
  if (address === undefined)
    return { ok: false, reason: `the host ${target.hostname} only has private or reserved addresses` };
  const bytes = Buffer.from(body);
  return await new Promise<Delivery>((resolve) => {
    const send = target.protocol === 'https:' ? httpsRequest : httpRequest;
    const call = send(
      target,
      {
        method: 'POST',
        headers: {
          ...headers,
          'content-type': 'application/json',
          'content-length': bytes.length,
          'user-agent': 'sallyport',
        },
        agent: false,
        signal: AbortSignal.timeout(timeoutMs),
        // Whatever the name leads to by now, this is where the connection goes.
        lookup: (_host, options, done) => {
          if (options.all) done(null, [{ address: address.address, family: address.family }]);
          else done(null, address.address, address.family);
        },
      },
      (response) => {
        const status = response.statusCode ?? 0;
        response.resume();
        response.destroy();
        resolve(
          status >= 200 && status < 300
            ? { ok: true, status }
            : { ok: false, reason: `the receiver answered ${status}`, status },
        );
      },
    );
    call.on('error', (error) => resolve({ ok: false, reason: error.message }));
    call.end(bytes);
  });
}

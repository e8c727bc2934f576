/** The text-only operations behind the guest's `URL` and `URLSearchParams`. They take strings and give strings. */

const SETTABLE: ReadonlySet<string> = new Set([
  'href',
  'protocol',
  'username',
  'password',
  'host',
  'hostname',
  'port',
  'pathname',
  'search',
  'hash',
]);

/** Parses an address into the fields of a `URL`, as JSON. Undefined when it is none. */
export function parseUrl(text: string, base: string | undefined): string | undefined {
  try {
    return fields(new URL(text, base));
  } catch {
    return undefined;
  }
}

/** Sets one field of an address, and gives all fields as JSON. */
export function changeUrl(href: string, field: string, value: string): string | undefined {
  if (!SETTABLE.has(field)) return undefined;
  try {
    const url = new URL(href);
    Reflect.set(url, field, value);
    return fields(url);
  } catch {
    return undefined;
  }
}

/** Parses a query into pairs, as JSON. */
export function parseQuery(text: string): string {
  return JSON.stringify([...new URLSearchParams(text)]);
}

/** Formats pairs, given as JSON, as a query. */
export function formatQuery(pairs: string): string {
  return new URLSearchParams(JSON.parse(pairs)).toString();
}

function fields(url: URL): string {
  const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
  return JSON.stringify([href, origin, protocol, username, password, host, hostname, port, pathname, search, hash]);
}

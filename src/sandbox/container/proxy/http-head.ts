/** What a client of an HTTP proxy asks for. */
export type HttpAsk =
  | { readonly kind: 'connect'; readonly host: string; readonly port: number }
  | { readonly kind: 'http'; readonly host: string; readonly port: number; readonly head: string }
  | { readonly kind: 'bad'; readonly reason: string };

const bad = (reason: string): HttpAsk => ({ kind: 'bad', reason });

/** Headers between a client and its proxy. The rest is for the server, but for `Host`, which the target decides. */
const HOP = /^(?:host|connection|keep-alive|proxy-[a-z-]+|upgrade|te|trailer)$/i;

/** Reads `host:port`, or `[address]:port`. */
function authority(text: string, defaultPort: number | undefined): { host: string; port: number } | undefined {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9A-Fa-f:.]+)\]|([^\s:@/?#\\[\]]+))(?::([0-9]{1,5}))?$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === undefined || port === undefined ? undefined : { host, port };
}

/**
 * Reads the head of a request: everything up to the empty line, without it. A plain request is rewritten for the server:
 * its target becomes a path, its `Host` that of the target, and one connection carries one request, because the next
 * could name another host.
 */
export function readHttpHead(head: string): HttpAsk {
  const [line = '', ...headers] = head.split('\r\n');
  const [, method, target = '', version] = /^([A-Z]+) (\S+) HTTP\/1\.([01])$/.exec(line) ?? [];
  if (method === undefined || version === undefined) return bad('the first line is not one of HTTP/1');
  if (/[\x00-\x08\x0a-\x1f\x7f]/.test(headers.join(''))) return bad('a header has control characters');
  if (method === 'CONNECT') {
    const to = authority(target, undefined);
    return to === undefined ? bad('the target of CONNECT is not host:port') : { kind: 'connect', ...to };
  }
  const [, where = '', path = ''] = /^http:\/\/([^/?#]*)([^#]*)/i.exec(target) ?? [];
  const to = authority(where, 80);
  if (to === undefined) return bad('the target is not an http:// URL with a plain host');
  const kept: string[] = [];
  for (const header of headers) {
    const [, name] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):/.exec(header) ?? [];
    if (name === undefined) return bad('a header cannot be read');
    if (!HOP.test(name)) kept.push(header);
  }
  const first = `${method} ${path.startsWith('/') ? path : `/${path}`} HTTP/1.1`;
  const rewritten = [first, `Host: ${where}`, ...kept, 'Connection: close', '', ''].join('\r\n');
  return { kind: 'http', ...to, head: rewritten };
}

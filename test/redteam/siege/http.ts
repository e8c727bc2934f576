import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import type { Attack } from './attack.js';
import { CUT_OFF, SECRET } from './fortress.js';

const POST = 'POST /run HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const SMUGGLED = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
const GET = 'GET /health HTTP/1.1\r\nHost: localhost\r\n';

const statuses = (text: string): number[] =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => Number(match[1]));
const nothingSmuggled = (text: string): void => {
  expect(text).not.toContain('sallyport_executions_total');
  expect(statuses(text)).not.toContain(200);
};
const refusedWith =
  (...allowed: readonly number[]) =>
  (text: string): void => {
    const [first] = statuses(text);
    expect(allowed, text.slice(0, 200)).toContain(first);
  };

/** Whoever is cut off while it still sends may not get to read why. */
const refusedOrCutOff =
  (status: number) =>
  (text: string): void => {
    if (text !== '') refusedWith(status)(text);
  };

/** Bytes on a connection. */
const bytes = (
  id: string,
  what: string,
  pieces: readonly (string | Uint8Array)[],
  expected: Attack['expected'],
): Attack => ({
  id,
  what,
  attack: (fortress) => fortress.raw(pieces),
  expected,
});

const smuggling: readonly Attack[] = [
  bytes(
    'T11',
    'a length and an encoding',
    [`${POST}Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    nothingSmuggled,
  ),
  bytes(
    'T11',
    'an encoding and a length',
    [`${POST}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    nothingSmuggled,
  ),
  bytes('T11', 'two lengths', [`${POST}Content-Length: 0\r\nContent-Length: 50\r\n\r\n${SMUGGLED}`], nothingSmuggled),
  bytes(
    'T11',
    'two encodings',
    [`${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    nothingSmuggled,
  ),
  bytes(
    'T11',
    'an encoding in disguise',
    [`${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n${SMUGGLED}`],
    nothingSmuggled,
  ),
  bytes('T11', 'bare line feeds', [`POST /run HTTP/1.1\nHost: localhost\n\n${SMUGGLED}`], nothingSmuggled),
  bytes('T11', 'a folded header', [`${POST}X-A: 1\r\n b\r\nContent-Length: 0\r\n\r\n${SMUGGLED}`], nothingSmuggled),
  bytes(
    'T11',
    'an endless chunk extension',
    [`${POST}Transfer-Encoding: chunked\r\n\r\n5;${'x'.repeat(100_000)}\r\n`],
    nothingSmuggled,
  ),
  bytes('T11', 'a length that is negative', [`${POST}Content-Length: -1\r\n\r\n`], refusedWith(400)),
  bytes(
    'T11',
    'a length beyond all numbers',
    [`${POST}Content-Length: 99999999999999999999999\r\n\r\n`],
    refusedWith(400, 413),
  ),
];

const costs: readonly Attack[] = [
  bytes(
    'T11',
    'a hundred thousand headers',
    [GET, ...Array.from({ length: 100_000 }, (_, n) => `X-${n}: 1\r\n`), '\r\n'],
    refusedOrCutOff(431),
  ),
  bytes('T11', 'one header of a megabyte', [`${GET}X: ${'x'.repeat(2 ** 20)}\r\n\r\n`], refusedWith(431)),
  bytes(
    'T11',
    'a URL of a megabyte',
    [`GET /${'x'.repeat(2 ** 20)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    refusedWith(414, 431),
  ),
  bytes('T11', 'a thousand requests at once', [`${GET}\r\n`.repeat(1_000)], (text: string) =>
    expect(statuses(text).every((status) => status === 200)).toBe(true),
  ),
  bytes(
    'T11',
    'a promise to send more, in vain',
    [`${POST}Expect: 100-continue\r\nContent-Length: 999999999\r\n\r\n`],
    refusedWith(100, 413, 417),
  ),
  bytes(
    'T11',
    'an expectation that nobody has',
    [`${POST}Expect: the unexpected\r\nContent-Length: 2\r\n\r\n{}`],
    refusedWith(400, 417),
  ),
  bytes('T11', 'HTTP/2 without asking', ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'], (text: string) =>
    expect(statuses(text)).not.toContain(200),
  ),
  bytes(
    'T11',
    'bytes that are nothing at all',
    [Buffer.from(Array.from({ length: 4_096 }, (_, n) => (n * 7 + 13) & 255))],
    (text: string) => expect(statuses(text)).not.toContain(200),
  ),
  {
    id: 'T11',
    what: 'a body larger than allowed',
    attack: (fortress) => fortress.post('/run', `{"code":"${'x'.repeat(11 * 2 ** 20)}"}`),
    expected: (answer) => expect([413, CUT_OFF]).toContain(answer.status),
  },
  {
    id: 'T11',
    what: 'a compressed bomb',
    attack: (fortress) => fortress.post('/run', gzipSync(Buffer.alloc(50 * 2 ** 20)), { 'content-encoding': 'gzip' }),
    expected: (answer) => expect([400, 413, 415]).toContain(answer.status),
  },
  ...[
    ['the same key twice', '{"code":"1","code":"2"}'],
    ['a key that is a prototype', '{"code":"return ({}).polluted","__proto__":{"polluted":1}}'],
    ['nesting without end', `${'['.repeat(100_000)}${']'.repeat(100_000)}`],
    ['a million empty objects', `{"code":"1","x":[${'{},'.repeat(1_000_000)}{}]}`],
    ['text that is not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['a mark of byte order', '\ufeff{"code":1}'],
    ['another kind of value', '"text"'],
  ].map(
    ([what, body]): Attack => ({
      id: 'T11',
      what: `a body with ${String(what)}`,
      attack: (fortress) => fortress.post('/run', body),
      expected: (answer) => expect(answer.status).toBeGreaterThanOrEqual(400),
    }),
  ),
  {
    id: 'T11',
    what: 'a body of another type',
    attack: (fortress) => fortress.post('/run', '{"code":"1"}', { 'content-type': 'application/xml' }),
    expected: { status: 415 },
  },
];

const withHeaders = (id: string, what: string, lines: string, expected: Attack['expected']): Attack =>
  bytes(id, what, [`GET /executions HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`], expected);

const pages: readonly Attack[] = [
  withHeaders(
    'T13',
    'a page of another origin',
    'Host: localhost\r\nOrigin: https://evil.example\r\n',
    refusedWith(403),
  ),
  withHeaders('T13', 'a page without an origin of its own', 'Host: localhost\r\nOrigin: null\r\n', refusedWith(403)),
  withHeaders('T13', 'a name that was rebound to this machine', 'Host: evil.example\r\n', refusedWith(400, 403, 421)),
  withHeaders('T13', 'a name with a trailing dot and a port', 'Host: evil.example.:80\r\n', refusedWith(400, 403, 421)),
  bytes(
    'T13',
    'a form that posts text',
    [
      `POST /run HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nContent-Type: text/plain\r\nContent-Length: 12\r\n\r\n{"code":"1"}`,
    ],
    refusedWith(403, 415),
  ),
  bytes(
    'T13',
    'a preflight for a private network',
    [
      'OPTIONS /run HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Private-Network: true\r\nConnection: close\r\n\r\n',
    ],
    (text: string) => expect(text.toLowerCase()).not.toContain('access-control-allow-private-network'),
  ),
  ...['https://evil.example', 'null'].map(
    (origin): Attack => ({
      id: 'P05',
      what: `a socket of a page from ${origin}`,
      attack: (fortress) =>
        fortress.raw([
          `GET /exec HTTP/1.1\r\nHost: localhost\r\nOrigin: ${origin}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
        ]),
      expected: refusedWith(403),
    }),
  ),
];

const PATHS = [
  '//execute-tool',
  '/api/../metrics',
  '/%2e%2e/etc/passwd',
  '/..%2f..%2fetc/passwd',
  '/executions/..%2f..%2f',
  '/health%00',
  '/wasm/%00/add',
  '/run/../run/types/..',
  '/\\..\\..',
];
const paths: readonly Attack[] = [
  ...PATHS.map((path) =>
    bytes(
      'T15',
      `the path ${path}`,
      [`GET ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`],
      (text: string) => {
        expect(text).not.toContain('root:');
        expect(text).not.toContain(SECRET);
        expect(statuses(text)[0]).toBeGreaterThanOrEqual(400);
      },
    ),
  ),
  bytes(
    'T15',
    'another method by a header',
    [
      'POST /health HTTP/1.1\r\nHost: localhost\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 0\r\nConnection: close\r\n\r\n',
    ],
    refusedWith(404, 405),
  ),
  bytes('T15', 'a tunnel', ['CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n'], (text: string) =>
    expect(statuses(text)).not.toContain(200),
  ),
];

export const HTTP_ATTACKS: readonly Attack[] = [...smuggling, ...costs, ...pages, ...paths];

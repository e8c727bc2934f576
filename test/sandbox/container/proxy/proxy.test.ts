import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { containerLevel } from '../../../../src/sandbox/container/container-level.js';
import { parseHostPattern } from '../../../../src/sandbox/container/host-pattern.js';
import { GUEST_POLICY } from '../../../../src/sandbox/container/policies.js';
import { serveClient } from '../../../../src/sandbox/container/proxy/client.js';
import { Gate, type ProxyDecision } from '../../../../src/sandbox/container/proxy/gate.js';
import { readHttpHead } from '../../../../src/sandbox/container/proxy/http-head.js';
import { openProxy } from '../../../../src/sandbox/container/proxy/proxy.js';
import { findSystemTool } from '../../../../src/sandbox/resolve-program.js';
import { here, run, testRefusalWithoutRooms } from '../rooms.js';

const NAMES: Record<string, string[]> = {
  'public.example.com': ['93.184.216.34'],
  'inside.example.com': ['10.0.0.5'],
  'metadata.google.internal': ['169.254.169.254'],
  'mixed.example.com': ['127.0.0.1', '93.184.216.34'],
  localhost: ['127.0.0.1'],
};
const resolve = async (name: string) => NAMES[name] ?? Promise.reject(new Error('ENOTFOUND'));

function gate(hosts: string[], unlisted: 'refused' | 'allowed' = 'refused'): Gate {
  const patterns = hosts.map((host) => {
    const parsed = parseHostPattern(host);
    if (!parsed.ok) throw new Error(parsed.reason);
    return parsed.pattern;
  });
  return new Gate(patterns, unlisted, resolve);
}

describe('the gate', () => {
  test('lets a listed name through to the address that it checked', async () => {
    const listed = gate(['*.example.com:443']);
    expect(await listed.judge('public.example.com', 443)).toMatchObject({ ok: true, address: '93.184.216.34' });
    expect(await listed.judge('PUBLIC.Example.com.', 443)).toMatchObject({ ok: true });
    expect(await listed.judge('mixed.example.com', 443)).toMatchObject({ ok: true, address: '93.184.216.34' });
    for (const [host, port] of [
      ['public.example.com', 80],
      ['example.com', 443],
      ['evilexample.com', 443],
      ['public.example.com.evil.org', 443],
      ['public.example.com\0.evil.org', 443],
      ['public.example.com@evil.org', 443],
      ['inside.example.com', 443],
      ['93.184.216.34', 443],
      ['unknown.example.com', 443],
    ] as const) {
      expect(await listed.judge(host, port), host).toMatchObject({ ok: false });
    }
  });

  test('asks only once for a name', async () => {
    let asked = 0;
    const rebinding = new Gate(gate(['rebind.example.com:80']).hosts, 'refused', async () => {
      asked += 1;
      return asked === 1 ? ['93.184.216.34'] : ['127.0.0.1'];
    });
    expect(await rebinding.judge('rebind.example.com', 80)).toMatchObject({ ok: true, address: '93.184.216.34' });
    expect(asked).toBe(1);
    expect(await rebinding.judge('rebind.example.com', 80)).toMatchObject({ ok: false });
  });

  test.each([
    '127.0.0.1',
    'localhost',
    '0.0.0.0',
    '127.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '017700000001',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0:0:0:0:0:0:0:1',
    '64:ff9b::7f00:1',
    '169.254.169.254',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    'metadata.google.internal',
    '2852039166',
    '0xa9fea9fe',
    '10.0.0.5',
    '192.168.1.1',
    '100.100.100.200',
    'inside.example.com',
    'fe80::1%eth0',
  ])('keeps %s closed even if everything public is open', async (host) => {
    expect(await gate([], 'allowed').judge(host, 80)).toMatchObject({ ok: false });
  });

  test('opens what is not public only if it is listed itself', async () => {
    expect(await gate(['127.0.0.1:80']).judge('::ffff:127.0.0.1', 80)).toMatchObject({ ok: true });
    expect(await gate(['127.0.0.1:80']).judge('127.0.0.1', 81)).toMatchObject({ ok: false });
    expect(await gate(['localhost:80']).judge('localhost', 80)).toMatchObject({ ok: true });
    expect(await gate(['inside.example.com:80']).judge('inside.example.com', 80)).toMatchObject({ ok: false });
    const both = gate(['inside.example.com:80', '10.0.0.5:80']);
    expect(await both.judge('inside.example.com', 80)).toMatchObject({ ok: true, address: '10.0.0.5' });
  });
});

describe('the head of a request', () => {
  test('is rewritten for the server that its target names', () => {
    const head = 'GET http://a.example.com:8080/x?y HTTP/1.1\r\nHost: evil\r\nProxy-Authorization: z\r\nAccept: */*';
    expect(readHttpHead(head)).toEqual({
      kind: 'http',
      host: 'a.example.com',
      port: 8080,
      head: 'GET /x?y HTTP/1.1\r\nHost: a.example.com:8080\r\nAccept: */*\r\nConnection: close\r\n\r\n',
    });
  });

  test.each([
    'GET / HTTP/1.1',
    'GET http://allowed@evil/ HTTP/1.1',
    'GET https://a/ HTTP/1.1',
    'GET ftp://a/ HTTP/1.1',
    'CONNECT a HTTP/1.1',
    'CONNECT a@b:1 HTTP/1.1',
    'CONNECT a:1/x HTTP/1.1',
    'GET http://a/ HTTP/2',
    'GET http://a/ HTTP/1.1\r\nbad header',
    'GET http://a/ HTTP/1.1\r\nx: a\nHost: b',
    '\x16\x03\x01',
  ])('is refused: %j', (head) => {
    expect(readHttpHead(head)).toMatchObject({ kind: 'bad' });
  });
});

let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((request, response) => response.end(`hello ${request.headers.host} ${request.url}`));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

describe('the proxy', () => {
  const talk = async (socket: string, ...parts: (string | Buffer)[]): Promise<string> => {
    const client = connect(socket);
    for (const part of parts) client.write(part);
    return (await text(client)).toString();
  };

  test('answers in the protocol that it is asked in, and logs each decision', async () => {
    const decisions: ProxyDecision[] = [];
    const hosts = [`127.0.0.1:${port}`];
    const proxy = await openProxy({ kind: 'allow', hosts }, (decision) => decisions.push(decision));
    const get = 'GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
    expect(await talk(proxy.socket, `GET http://127.0.0.1:${port}/p HTTP/1.1\r\nHost: q\r\n\r\n`)).toContain(
      `hello 127.0.0.1:${port} /p`,
    );
    expect(await talk(proxy.socket, `CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n${get}`)).toMatch(
      /^HTTP\/1.1 200.*hello x/s,
    );
    const socks = Buffer.from([5, 1, 0, 5, 1, 0, 1, 127, 0, 0, 1, port >> 8, port & 255]);
    expect(await talk(proxy.socket, socks, get)).toContain('hello x');
    expect(await talk(proxy.socket, `CONNECT 127.0.0.1:${port + 1} HTTP/1.1\r\n\r\n`)).toMatch(/^HTTP\/1.1 403 /);
    const name = Buffer.concat([Buffer.from([5, 1, 0, 5, 1, 0, 3, 9]), Buffer.from('localhost'), Buffer.from([0, 80])]);
    expect((await talk(proxy.socket, name)).charCodeAt(3)).toBe(2);
    expect(await talk(proxy.socket, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 /);
    expect(await talk(proxy.socket, `GET http://a/ HTTP/1.1\r\nx: ${'x'.repeat(40_000)}`)).toMatch(/^HTTP\/1.1 431 /);
    expect(decisions.map(({ protocol, verdict }) => `${protocol} ${verdict}`)).toEqual([
      'http allowed',
      'connect allowed',
      'socks5 allowed',
      'connect refused',
      'socks5 refused',
    ]);
    await proxy.close();
  });
});

testRefusalWithoutRooms();

describe.runIf(here.available)('from a room', () => {
  const curl = findSystemTool('curl');
  const fetcher = (target: string): string =>
    curl === undefined
      ? `perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new("127.0.0.1:3128"); print $s "GET ${target} HTTP/1.1\\r\\n\\r\\n"; print <$s>'`
      : `curl -s -S --max-time 5 '${target}'`;

  test('only listed hosts are reached, through the proxy alone', async () => {
    const decisions: ProxyDecision[] = [];
    const network = { kind: 'allow', hosts: [`127.0.0.1:${port}`] } as const;
    const level = containerLevel({ policy: { ...GUEST_POLICY, network }, onDecision: (one) => decisions.push(one) });
    const reached = await run(level, fetcher(`http://127.0.0.1:${port}/in`));
    expect(reached.text).toContain(`hello 127.0.0.1:${port} /in`);
    const own: ProxyDecision[] = [];
    const refused = await run(level, fetcher('http://169.254.169.254/latest/meta-data'), {
      onNetworkDecision: (one) => own.push(one),
    });
    expect(refused.text).toContain('sallyport: the address is not on the list');
    expect(decisions.map(({ verdict }) => verdict)).toEqual(['allowed', 'refused']);
    expect(own).toEqual(decisions.slice(1));
    const direct = `perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(PeerAddr => "127.0.0.1:${port}", Timeout => 3) ? "open" : "closed"'`;
    expect((await run(level, direct)).text).toBe('closed');
  });

  test('the relay does not change how the command ends, what it waits for, or what it inherits', async () => {
    const network = { kind: 'allow', hosts: ['a.example.com:80'] } as const;
    const level = containerLevel({ policy: { ...GUEST_POLICY, network } });
    const ended = await run(level, '', { argv: ['perl', '-e', 'print wait, " $ENV{HTTPS_PROXY}"; exit 6'] });
    expect(ended).toMatchObject({ exitCode: 6, text: '-1 http://127.0.0.1:3128' });
    const listing = await run(level, 'for f in /proc/self/fd/*; do readlink $f; done');
    const strange = listing.text
      .trim()
      .split('\n')
      .filter((target) => !/^(socket:|pipe:|\/dev\/null$|\/proc\/)/.test(target));
    expect(strange).toEqual([]);
    expect(listing.text.match(/socket:|pipe:/g)).toHaveLength(2);
  });
});

describe('a client that has said all it has to say', () => {
  test('still hears the answer', async () => {
    const web = createTcpServer({ allowHalfOpen: true }, (socket) => {
      let heard = '';
      socket.on('data', (chunk) => {
        heard += chunk;
      });
      socket.on('end', () => setTimeout(() => socket.end(`heard ${heard}`), 50));
    });
    await new Promise<void>((done) => web.listen(0, '127.0.0.1', done));
    const { port } = web.address() as AddressInfo;
    const proxy = createTcpServer({ allowHalfOpen: true }, (socket) => {
      void serveClient(socket, gate([`127.0.0.1:${port}`]), () => {});
    });
    await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
    const client = connect({ port: (proxy.address() as AddressInfo).port, host: '127.0.0.1', allowHalfOpen: true });
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    client.once('data', () => client.end('all of it'));
    expect(await text(client)).toContain('heard all of it');
    proxy.close();
    web.close();
  });
});

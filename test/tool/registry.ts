import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** One entry of a tarball. `type` is that of tar: 0 file, 1 hard link, 2 symbolic link, 3 device, 5 folder. */
export interface TarEntry {
  readonly path: string;
  readonly content?: string | Buffer;
  readonly type?: '0' | '1' | '2' | '3' | '5';
  readonly link?: string;
  readonly mode?: number;
  /** The size that the header claims, if it is not that of the content. */
  readonly size?: number;
}

export interface TestPackage {
  readonly name: string;
  readonly version?: string;
  /** Files of the package; package.json is made. */
  readonly files?: Readonly<Record<string, string>>;
  readonly manifest?: Readonly<Record<string, unknown>>;
  /** Raw entries beside the files. */
  readonly entries?: readonly TarEntry[];
  /** A tarball as it is, instead of one that is made. */
  readonly tarball?: Buffer;
  /** What is sent in its place the first time. */
  readonly first?: Buffer;
  /** Milliseconds before the tarball is sent; `never` keeps the client waiting. */
  readonly delay?: number | 'never';
  /** The integrity that the packument claims. */
  readonly integrity?: string;
  readonly publishedAt?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

function header(entry: TarEntry, size: number): Buffer {
  const block = Buffer.alloc(512);
  block.write(entry.path.slice(0, 100), 0, 'utf8');
  block.write(`${(entry.mode ?? 0o644).toString(8).padStart(7, '0')}\0`, 100);
  block.write('0000000\0', 108);
  block.write('0000000\0', 116);
  block.write(`${size.toString(8).padStart(11, '0')}\0`, 124);
  block.write('00000000000\0', 136);
  block.write('        ', 148);
  block.write(entry.type ?? '0', 156);
  if (entry.link !== undefined) block.write(entry.link, 157);
  block.write('ustar\x0000', 257);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return block;
}

/** Makes a tarball. */
export function tarball(entries: readonly TarEntry[]): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) {
    const content = Buffer.from(entry.content ?? '');
    blocks.push(header(entry, entry.size ?? content.length), content);
    if (content.length % 512 !== 0) blocks.push(Buffer.alloc(512 - (content.length % 512)));
  }
  blocks.push(Buffer.alloc(1024));
  return gzipSync(Buffer.concat(blocks));
}

interface Published extends TestPackage {
  readonly version: string;
  readonly bytes: Buffer;
}

/** A small npm registry on loopback: packuments and tarballs made by the test, and a count of what was asked for. */
export class TestRegistry {
  readonly #server: Server;
  readonly #packages = new Map<string, Published[]>();
  readonly requests: string[] = [];
  /** Answers everything with this status when set. */
  broken: number | undefined;
  /** How many requests from now on get no answer. */
  silent = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  static async start(): Promise<TestRegistry> {
    const server = createServer();
    const registry = new TestRegistry(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return registry;
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}/`;
  }

  /** How often a path that contains this was asked for. */
  count(part: string): number {
    return this.requests.filter((path) => path.includes(part)).length;
  }

  publish(...packages: readonly TestPackage[]): void {
    for (const one of packages) {
      const version = one.version ?? '1.0.0';
      const manifest = { name: one.name, version, main: 'index.js', ...one.manifest };
      const files = Object.entries({ 'package.json': JSON.stringify(manifest), ...one.files });
      const entries = files.map(([path, content]) => ({ path: `package/${path}`, content }));
      const bytes = one.tarball ?? tarball([...entries, ...(one.entries ?? [])]);
      this.#packages.set(one.name, [...(this.#packages.get(one.name) ?? []), { ...one, version, bytes }]);
    }
  }

  /** Publishes a tool of one ES module file. */
  tool(name: string, source: string, more: Partial<TestPackage> = {}): void {
    this.publish({
      name,
      ...more,
      files: { 'index.js': source, ...more.files },
      manifest: { type: 'module', ...more.manifest },
    });
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(request.url ?? '/').slice(1);
    this.requests.push(path);
    if (this.silent > 0) {
      this.silent -= 1;
      return;
    }
    if (this.broken !== undefined) {
      response.writeHead(this.broken).end();
      return;
    }
    const [name = '', file] = path.split('/-/');
    const versions = this.#packages.get(name);
    if (versions === undefined) {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
      return;
    }
    if (file === undefined) {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify(this.#packument(name, versions)));
      return;
    }
    const found = versions.find(({ version }) => file === `${version}.tgz`);
    if (found === undefined) {
      response.writeHead(404).end();
      return;
    }
    if (found.delay === 'never') return;
    const bytes = this.count(path) === 1 ? (found.first ?? found.bytes) : found.bytes;
    setTimeout(
      () => response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(bytes),
      found.delay ?? 0,
    );
  }

  #packument(name: string, versions: readonly Published[]): unknown {
    const last = versions.at(-1);
    return {
      name,
      'dist-tags': { latest: last?.version, ...last?.tags },
      time: Object.fromEntries(versions.map((one) => [one.version, one.publishedAt ?? '2020-01-01T00:00:00.000Z'])),
      versions: Object.fromEntries(
        versions.map((one) => {
          const integrity = one.integrity ?? `sha512-${createHash('sha512').update(one.bytes).digest('base64')}`;
          const dist = { tarball: `${this.url}${name}/-/${one.version}.tgz`, integrity };
          const { scripts } = { scripts: undefined, ...one.manifest };
          return [
            one.version,
            {
              name,
              version: one.version,
              main: 'index.js',
              ...one.manifest,
              ...(scripts === undefined ? {} : { hasInstallScript: true }),
              dist,
            },
          ];
        }),
      ),
    };
  }
}

import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CheckFailed } from '../../check.js';
import { PACKAGES, type SuitePackage, TAGS } from './packages.js';
import { tarball } from './tarball.js';

/** How long a registry stays without a check that needs it: between two checks a target may still fetch from it. */
const LINGER_MS = 2_000;

interface Packed extends SuitePackage {
  readonly bytes: Buffer;
}

/** A small npm registry on loopback with the packages of the suite. Checks that run at the same time share it. */
export class Registry {
  static readonly #open = new Map<number, Promise<Registry>>();
  readonly #server: Server;
  readonly #port: number;
  readonly #packages = PACKAGES.map((one): Packed => ({ ...one, bytes: pack(one) }));
  readonly #requests: string[] = [];
  #users = 0;
  #lingering: NodeJS.Timeout | undefined;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.#port = port;
    server.on('request', (request, response) => this.#answer(request, response));
  }

  /** The registry at a port, which is there until it is released as often as it was asked for. */
  static async use(port: number): Promise<Registry> {
    const opening = Registry.#open.get(port) ?? Registry.#listen(port);
    Registry.#open.set(port, opening);
    const registry = await opening;
    registry.#users += 1;
    clearTimeout(registry.#lingering);
    return registry;
  }

  static async #listen(port: number): Promise<Registry> {
    const server = createServer();
    const registry = new Registry(server, port);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject).listen(port, '127.0.0.1', resolve);
    }).catch((error: unknown) => {
      Registry.#open.delete(port);
      const cameBack = error instanceof Error ? error.message : String(error);
      throw new CheckFailed({ expected: `port ${port} to be free for the registry of the suite`, cameBack });
    });
    server.unref();
    return registry;
  }

  release(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    this.#lingering = setTimeout(() => {
      Registry.#open.delete(this.#port);
      this.#server.closeAllConnections();
      this.#server.close();
    }, LINGER_MS).unref();
  }

  /** How often the contents of a package were fetched. */
  downloads(name: string): number {
    return this.#requests.filter((path) => path.startsWith(`${name}/-/`)).length;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = decodeURIComponent(request.url ?? '/').slice(1);
    this.#requests.push(path);
    const [name = '', file] = path.split('/-/');
    const versions = this.#packages.filter((one) => one.name === name);
    const found = versions.find(({ version }) => file === `${version}.tgz`);
    if (file === undefined && versions.length > 0) {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(this.#packument(name, versions)));
    } else if (found !== undefined) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found.bytes);
    } else {
      response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"Not found"}');
    }
  }

  #packument(name: string, versions: readonly Packed[]): unknown {
    const published = '2020-01-01T00:00:00.000Z';
    return {
      name,
      'dist-tags': TAGS[name] ?? { latest: versions.at(-1)?.version },
      time: Object.fromEntries(versions.map(({ version }) => [version, published])),
      versions: Object.fromEntries(
        versions.map((one) => {
          const integrity = `sha512-${createHash('sha512').update(one.bytes).digest('base64')}`;
          const address = `http://127.0.0.1:${this.#port}/${name}/-/${one.version}.tgz`;
          return [one.version, { ...manifestOf(one), dist: { tarball: address, integrity } }];
        }),
      ),
    };
  }
}

function manifestOf({ name, version, type, manifest }: SuitePackage): Record<string, unknown> {
  return { name, version, type, main: 'index.js', ...manifest };
}

function pack(one: SuitePackage): Buffer {
  return tarball({ 'package.json': JSON.stringify(manifestOf(one)), 'index.js': one.source });
}

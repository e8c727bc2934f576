import { createHash } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { CheckFailed } from '../../check.js';
import { PACKAGES, type SuitePackage, TAGS } from './packages.js';
import { tarball } from './tarball.js';

/** How long a registry stays without a check that needs it: between two checks a target may still fetch from it. */
const LINGER_MS = 2_000;

const TAGS_PREFIX = '-/package/';
/** A name with a scope or none, and then a version, a tag, `dist-tags` behind the prefix, or `-/` and a file. */
const PACKAGE_PATH = /^(?:-\/package\/)?((?:@[^/]+\/)?[^@/][^/]*)(?:\/(?!-\/)([^/]+)|\/-\/([^/]+))?$/;

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
    this.#lingering = setTimeout(() => void this.#close(), LINGER_MS).unref();
  }

  /** Ends the registry at a port without waiting, unless there are checks that need it. */
  static async close(port: number): Promise<void> {
    const registry = await Registry.#open.get(port);
    if (registry !== undefined && registry.#users === 0) await registry.#close();
  }

  #close(): Promise<void> {
    clearTimeout(this.#lingering);
    Registry.#open.delete(this.#port);
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
  }

  /** How often the contents of a package were fetched. */
  downloads(name: string): number {
    return this.#requests.filter((path) => path.startsWith(`${name}/-/`)).length;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = pathOf(request);
    this.#requests.push(path);
    const found = this.#find(path);
    if (found instanceof Buffer) {
      response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(found);
    } else {
      response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(found ?? { error: 'Not found' }));
    }
  }

  /** What npm clients ask for: a package, one version of it by number or tag, its tags, or its bytes. */
  #find(path: string): Buffer | object | undefined {
    const [, name = '', part, file] = PACKAGE_PATH.exec(path) ?? [];
    const versions = this.#packages.filter((one) => one.name === name);
    if (versions.length === 0) return undefined;
    const tags: Readonly<Record<string, string | undefined>> = TAGS[name] ?? { latest: versions.at(-1)?.version };
    if (path.startsWith(TAGS_PREFIX)) return part === 'dist-tags' ? tags : undefined;
    if (file !== undefined) return versions.find(({ version }) => file === `${version}.tgz`)?.bytes;
    if (part === undefined) return this.#packument(name, versions, tags);
    const one = versions.find(({ version }) => version === (Object.hasOwn(tags, part) ? tags[part] : part));
    return one && this.#manifest(one);
  }

  #packument(name: string, versions: readonly Packed[], tags: Readonly<Record<string, unknown>>): object {
    const published = '2020-01-01T00:00:00.000Z';
    return {
      name,
      'dist-tags': tags,
      time: Object.fromEntries(versions.map(({ version }) => [version, published])),
      versions: Object.fromEntries(versions.map((one) => [one.version, this.#manifest(one)])),
    };
  }

  #manifest(one: Packed): object {
    const integrity = `sha512-${createHash('sha512').update(one.bytes).digest('base64')}`;
    const tarball = `http://127.0.0.1:${this.#port}/${one.name}/-/${one.version}.tgz`;
    return { ...manifestOf(one), dist: { tarball, integrity } };
  }
}

/** The path of a request without its first slash. One that cannot be decoded is that of nothing. */
function pathOf({ url = '/' }: IncomingMessage): string {
  try {
    return decodeURIComponent(url.split('?', 1)[0] ?? '').slice(1);
  } catch {
    return '';
  }
}

function manifestOf({ name, version, type, manifest }: SuitePackage): Record<string, unknown> {
  return { name, version, type, main: 'index.js', ...manifest };
}

function pack(one: SuitePackage): Buffer {
  return tarball({ 'package.json': JSON.stringify(manifestOf(one)), 'index.js': one.source });
}

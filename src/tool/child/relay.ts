// Brings connections of Node's own clients to the relay that HTTP_PROXY names. Node reads that variable by itself only in
// later versions; this does the same for `fetch`, `http` and `https`, also for agents that a package makes for itself.
import { createRequire } from 'node:module';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Agent, Dispatcher } from 'undici';

const require = createRequire(import.meta.url);
/** Where `fetch` looks for what carries its requests out. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');
/** How long the proxy may take: longer than it gives itself to resolve a name and to connect. */
const CONNECT_TIMEOUT_MS = 20_000;
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;

type Created = (error: Error | null, socket?: Duplex) => void;

interface Target {
  readonly host: string;
  readonly port: number;
}

class NotAllowedError extends Error {
  override readonly name = 'NotAllowedError';
  readonly code = 'EACCES';

  constructor({ host, port }: Target, reason: unknown) {
    const words = reason instanceof Error ? reason.message : String(reason);
    super(
      `connecting to ${host}:${port} is not allowed by the network policy of this executor, or it cannot be reached (${words})`,
    );
  }
}

/** Opens a connection by way of the relay. */
async function dial(relay: URL, target: Target): Promise<Socket> {
  // Loaded by the first connection: most tools make none.
  const { SocksClient }: typeof import('socks') = require('socks');
  try {
    const { socket } = await SocksClient.createConnection({
      proxy: { host: relay.hostname, port: Number(relay.port), type: 5 },
      command: 'connect',
      destination: { host: target.host, port: target.port },
      timeout: CONNECT_TIMEOUT_MS,
    });
    return socket.setNoDelay();
  } catch (error) {
    throw new NotAllowedError(target, error);
  }
}

/** The relay, and what is reached without it. */
class Way {
  readonly relay: URL;
  readonly #privateLoopback: boolean;

  /** Either the whole loopback is private, or all of it is the machine's: the room says which by what it exempts. */
  constructor(relay: URL, exempt: string | undefined) {
    this.relay = relay;
    this.#privateLoopback = exempt !== undefined && exempt !== '';
  }

  /** Whether a host is inside. The relay itself always is: some packages read the variables themselves. */
  isInside({ host, port }: Target): boolean {
    if (host === this.relay.hostname && port === Number(this.relay.port)) return true;
    return this.#privateLoopback && LOOPBACK.test(host);
  }
}

/** Where an agent wants to go. Nothing when that is a path, or over a socket that is there already. */
function targetOf(options: Readonly<Record<string, unknown>>): Target | undefined {
  const { path, socketPath, socket, host, port } = options;
  if (typeof path === 'string' || typeof socketPath === 'string' || socket !== undefined) return undefined;
  return { host: typeof host === 'string' ? host : 'localhost', port: Number(port) };
}

type CreateConnection = (this: unknown, options: Record<string, unknown>, created?: Created) => unknown;

/** Has the agents of a module connect through the relay. What comes on top of the connection, TLS, stays theirs. */
function redirectAgents(
  module: { readonly Agent: { readonly prototype: object } },
  way: Way,
  onTop: 'nothing' | 'tls',
): void {
  const { prototype } = module.Agent;
  const original: CreateConnection = Reflect.get(prototype, 'createConnection');
  const createConnection: CreateConnection = function (options, created) {
    const target = targetOf(options);
    if (created === undefined || target === undefined || way.isInside(target)) {
      return original.call(this, options, created);
    }
    dial(way.relay, target).then(
      (socket) => created(null, onTop === 'nothing' ? socket : (original.call(this, { ...options, socket }) as Duplex)),
      (error: Error) => created(error),
    );
    return undefined;
  };
  Reflect.set(prototype, 'createConnection', createConnection);
}

function createDispatcher(way: Way): Agent {
  const undici: typeof import('undici') = require('undici');
  const plain = undici.buildConnector({});
  return new undici.Agent({
    connect: (options, done) => {
      const secure = options.protocol === 'https:';
      const port = Number(options.port === '' ? (secure ? 443 : 80) : options.port);
      const target = { host: options.hostname.replace(/^\[(.*)\]$/, '$1'), port };
      if (way.isInside(target)) {
        plain(options, done);
        return;
      }
      dial(way.relay, target).then(
        (httpSocket) => (secure ? plain({ ...options, httpSocket }, done) : done(null, httpSocket)),
        (error: Error) => done(error, null),
      );
    },
  });
}

/** Has `fetch` connect through the relay. */
function redirectFetch(way: Way): void {
  let real: Agent | undefined;
  const dispatcher: Pick<Dispatcher, 'dispatch'> = {
    dispatch: (options, handler) => {
      real ??= createDispatcher(way);
      return real.dispatch(options, handler);
    },
  };
  Reflect.set(globalThis, GLOBAL_DISPATCHER, dispatcher);
}

/** Whether this Node follows the variables by itself, as it does since 24.5. To ask whether it knows the option costs milliseconds. */
function nodeDoesIt(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > 24 || (major === 24 && minor >= 5);
}

let done = false;

/** Redirects everything, where there is a relay and Node does not do so by itself. */
export function useRelay(): void {
  const { HTTP_PROXY: proxy, NO_PROXY: exempt } = process.env;
  if (done || proxy === undefined || nodeDoesIt()) return;
  done = true;
  const way = new Way(new URL(proxy), exempt);
  redirectAgents(require('node:http'), way, 'nothing');
  redirectAgents(require('node:https'), way, 'tls');
  redirectFetch(way);
}

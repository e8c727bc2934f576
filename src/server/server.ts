import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import Fastify, { type FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { isSallyportError, SallyportError } from '../errors/index.js';
import { toolServerOptions } from '../tool/index.js';
import { isLoopbackName, KEEP_ALIVE_DELAY_MS, printable, type Upgrader } from '../wire/index.js';
import type { AccessRules } from './access/judge.js';
import { type Key, KeyRing } from './access/keys.js';
import { endWithdrawn } from './access/withdrawn.js';
import { logTrail } from './audit/log.js';
import type { AuditTrail } from './audit/trail.js';
import { Connections } from './http/connections.js';
import { type Isolation, resolveConfinement } from './isolation.js';
import { MAX_HEADER_BYTES, type ServerLimits } from './limits.js';
import { createMetrics, type Metrics } from './metrics.js';
import type { ServerOptions } from './options.js';
import { createParts, type Parts } from './parts.js';
import { ReadinessProbe } from './readiness.js';
import { type ServerPolicies, serverPolicies } from './room-policies.js';
import { addRoutes } from './routes/all.js';
import { SessionCallers } from './sockets/exec.js';
import { serveSockets } from './sockets/upgrade.js';

const DEFAULT_HOST = '127.0.0.1';
const DEFAULT_PORT = 7420;
/** How long what was told to end may take until it is not waited for any more. */
const END_GRACE_MS = 2_000;
/** How long after the start processes are started ahead. */
const WARM_DELAY_MS = 150;

/** What a running server can take up. */
export interface Reload {
  readonly keys: readonly Key[];
  readonly limits?: Partial<ServerLimits> | undefined;
}

/** All four boundaries on one port. */
export interface SallyportServer extends AsyncDisposable {
  readonly isolation: Isolation;
  readonly trail: AuditTrail;
  /** The names of the modules that are served. */
  readonly modules: readonly string[];
  /** Starts to listen, and returns the address. Rejects with SERVER_LISTEN. Pools are filled in the background. */
  listen(): Promise<string>;
  /** Resolves when the pools are filled, or cannot be. */
  readonly warm: Promise<void>;
  /**
   * Takes up keys, and limits where they are given, without touching a connection, except for those of keys that are gone:
   * they end, with what runs for them. Returns the names of limits that would need a new start. Throws SERVER_CONFIG, and changes nothing, where the last key of a server that others can reach would go.
   */
  reload(changes: Reload): readonly string[];
  /** Takes on nothing new, lets what runs finish for this long, then ends it. Resolves when nothing is left. */
  drain(timeoutMs: number): Promise<void>;
  /** Ends everything now. */
  dispose(): Promise<void>;
}

/** Makes a server. Rejects with SERVER_CONFIG, SERVER_ISOLATION or TOOL_CACHE_UNUSABLE when it cannot be what it is asked to be. */
export async function createServer(options: ServerOptions): Promise<SallyportServer> {
  const host = options.host ?? DEFAULT_HOST;
  const loopback = isLoopbackName(host);
  checkKeyed(host, options.keys ?? []);
  const keys = new KeyRing(options.keys ?? []);
  const policies = policiesOf(options);
  const resolved = await resolveConfinement(options.isolation ?? 'auto', policies.rooms);
  if (!resolved.ok) throw new SallyportError('SERVER_ISOLATION', resolved.reason);
  const logger = options.logger ?? pino({ level: 'silent' });
  const sessions = new SessionCallers();
  const parts = await createParts({
    options,
    confinement: resolved.confinement,
    execPolicy: policies.exec,
    keys,
    sessions,
  });
  const rules: AccessRules = {
    hosts: loopback || (options.allowHost ?? []).length > 0 ? (options.allowHost ?? []) : 'any',
    origins: options.allowOrigin ?? [],
    info: options.info ?? 'open',
  };
  return new RunningServer({ host, port: options.port ?? DEFAULT_PORT, options, parts, keys, rules, logger, sessions });
}

/** Throws SERVER_CONFIG for an address that others can reach and nothing guards. */
function checkKeyed(host: string, keys: readonly Key[]): void {
  if (isLoopbackName(host) || keys.length > 0) return;
  throw new SallyportError(
    'SERVER_CONFIG',
    `${host} can be reached by others: set a key (EXECUTOR_API_KEY), or listen on 127.0.0.1`,
  );
}

function policiesOf(options: ServerOptions): ServerPolicies {
  try {
    return serverPolicies(options);
  } catch (error) {
    if (isSallyportError(error, 'POLICY_INVALID')) throw new SallyportError('SERVER_CONFIG', error.message);
    throw error;
  }
}

interface Setup {
  readonly host: string;
  readonly port: number;
  readonly options: ServerOptions;
  readonly parts: Parts;
  readonly keys: KeyRing;
  readonly rules: AccessRules;
  readonly logger: Logger;
  readonly sessions: SessionCallers;
}

/**
 *     made ──listen()──▶ serving ──drain()──▶ draining ──▶ ended
 *                           └───────dispose()─────────────▲
 */
class RunningServer implements SallyportServer {
  readonly #setup: Setup;
  readonly #fastify: FastifyInstance;
  readonly #connections: Connections;
  readonly #sockets: Upgrader;
  readonly #metrics: Metrics;
  readonly #readiness: ReadinessProbe;
  readonly #stopLog: () => void;
  #warm: Promise<void> = Promise.resolve();
  #disposed: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(setup: Setup) {
    this.#setup = setup;
    const { parts, rules, keys, logger, sessions } = setup;
    const { limits } = parts;
    const { headersTimeoutMs, requestTimeoutMs } = limits;
    const arrival = { maxHeaderBytes: MAX_HEADER_BYTES, headersTimeoutMs, requestTimeoutMs };
    const shared = toolServerOptions({ ...parts.tools.limits, ...arrival });
    const fastify: FastifyInstance = Fastify({
      ...shared,
      keepAliveTimeout: limits.idleTimeoutMs,
      http: {
        ...shared.http,
        // Finds out about peers that vanished without a word.
        keepAlive: true,
        keepAliveInitialDelay: KEEP_ALIVE_DELAY_MS,
        noDelay: true,
      },
    });
    this.#fastify = fastify;
    this.#connections = new Connections(this.#server, limits);
    this.#readiness = new ReadinessProbe(setup.options.cacheDir);
    this.#sockets = serveSockets({
      server: this.#server,
      rules,
      keys,
      parts,
      sessions,
      onRefused: ({ status, code }, path) =>
        logger.warn({ path: printable(path, 200), status, code }, 'upgrade refused'),
    });
    this.#metrics = createMetrics(parts, () => this.#traffic());
    this.#stopLog = logTrail(parts.trail, logger);
    addRoutes(fastify, { parts, rules, keys, logger, readiness: this.#readiness, metrics: this.#metrics });
  }

  get isolation(): Isolation {
    return this.#setup.parts.isolation;
  }

  get trail(): AuditTrail {
    return this.#setup.parts.trail;
  }

  get modules(): readonly string[] {
    return this.#setup.parts.modules.names;
  }

  get warm(): Promise<void> {
    return this.#warm;
  }

  async listen(): Promise<string> {
    const { host, port } = this.#setup;
    let url: string;
    try {
      url = await this.#fastify.listen({ host, port });
    } catch (error) {
      const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      const reason = taken ? 'the port is taken' : error instanceof Error ? error.message : String(error);
      throw new SallyportError(
        'SERVER_LISTEN',
        `cannot listen on ${host} port ${port}: ${reason}`,
        {},
        { cause: error },
      );
    }
    if (this.#setup.options.prewarm !== 'never') this.#warm = this.#fill();
    return url;
  }

  reload({ keys, limits }: Reload): readonly string[] {
    const { parts, host } = this.#setup;
    checkKeyed(host, keys);
    this.#setup.keys.replace(keys);
    endWithdrawn(parts, this.#setup.sessions);
    const kept = limits === undefined ? [] : parts.live.replace(limits);
    this.#server.maxConnections = parts.limits.connections;
    this.#server.headersTimeout = parts.limits.headersTimeoutMs;
    this.#server.requestTimeout = parts.limits.requestTimeoutMs;
    this.#server.keepAliveTimeout = parts.limits.idleTimeoutMs;
    return kept;
  }

  async drain(timeoutMs: number): Promise<void> {
    const { trail, quotas, tools } = this.#setup.parts;
    quotas.close();
    // What waits and outlives the server is not waited for.
    tools.holdQueue();
    // Who probes must be told, and who waits for a result must be able to fetch it: the port closes at the end.
    this.#readiness.report('drain', 'the server is shutting down');
    const patience = new AbortController();
    await Promise.race([
      trail.idle(),
      delay(timeoutMs, undefined, { signal: patience.signal, ref: true }).catch(() => {}),
    ]);
    patience.abort();
    for (const execution of trail.running) execution.cancel();
    await Promise.race([trail.idle(), delay(END_GRACE_MS, undefined, { ref: false })]);
    await this.dispose();
  }

  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #end(): Promise<void> {
    const { parts } = this.#setup;
    parts.quotas.close();
    this.#readiness.report('drain', 'the server is shutting down');
    this.#sockets.closeAll('the server is going away');
    const closing = this.#stopListening();
    await Promise.all([
      parts.execServer.dispose(),
      parts.executor.dispose({ mode: 'abort' }),
      parts.shells.dispose(),
      parts.modules.dispose(),
      parts.tools.dispose(),
    ]);
    await Promise.all(Object.values(parts.spawners).map((spawner) => spawner.dispose()));
    // Answers that were given a moment ago are still on their way.
    this.#server.closeIdleConnections();
    await Promise.race([closing, delay(END_GRACE_MS, undefined, { ref: false })]);
    this.#sockets.terminateAll();
    this.#connections.destroyAll();
    await this.#fastify.close();
    this.#metrics.dispose();
    this.#stopLog();
  }

  /** Takes no more connections. Resolves when the last one is gone. */
  #stopListening(): Promise<void> {
    this.#closing ??= new Promise((resolve) => {
      if (this.#server.listening) this.#server.close(() => resolve());
      else resolve();
    });
    this.#server.closeIdleConnections();
    return this.#closing;
  }

  get #server(): Server {
    return this.#fastify.server;
  }

  /** Fills the pools. What cannot be started as configured makes the server unready, with the reason. */
  async #fill(): Promise<void> {
    // Starting a process holds everything up for a moment: the first request goes first.
    await delay(WARM_DELAY_MS, undefined, { ref: false });
    const { tools, executor, shells } = this.#setup.parts;
    const parts = { tool: () => tools.warm(), run: () => executor.prewarm(), guest: () => shells.prewarm() };
    for (const [name, warm] of Object.entries(parts)) {
      if (this.#disposed !== undefined) return;
      await warm().catch((error: unknown) => {
        if (this.#disposed !== undefined) return;
        const reason = printable(error instanceof Error ? error.message : String(error));
        this.#readiness.report(name, `${name}: ${reason}`);
        this.#setup.logger.error({ part: name, reason }, 'a pool could not be filled');
      });
    }
  }

  #traffic() {
    const { size, refused, bytesRead, bytesWritten } = this.#connections;
    return {
      connections: size,
      sockets: this.#sockets.clients.size,
      bytesRead,
      bytesWritten,
      refusedConnections: refused,
    };
  }
}

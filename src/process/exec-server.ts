import { createSpawner, networkGate, type Spawner } from '../sandbox/index.js';
import type { Clock, JsonMessageOptions, Transport } from '../wire/index.js';
import { Connection, type ConnectionOptions, type ServedConnection } from './connection.js';
import type { ExecPolicy } from './exec-policy.js';
import { ExecHandler } from './handler.js';
import type { NetworkPolicy } from './http-request.js';
import { type ProcessLimits, processLimits } from './limits.js';
import { Malformed } from './messages.js';
import type { ExecObserver, ObservedSession } from './observer.js';

export interface ExecServerOptions {
  /** Who starts processes. One of its own, unless given; a given one stays the caller's to dispose. */
  readonly spawner?: Spawner;
  /** The isolation level of every process. Default: `process`. */
  readonly level?: string;
  readonly limits?: Partial<ProcessLimits>;
  /** What `envPolicy` may inherit from. Default: this process's environment, without `EXECUTOR_API_KEY`. */
  readonly environment?: Readonly<Record<string, string | undefined>>;
  /**
   * What commands may reach at a level that confines them: the one whose `forCommand` the level was made with. With it,
   * `fs/*` and `http/request` reach what commands can.
   */
  readonly policy?: ExecPolicy;
  /** Whether `fs/*` works. Default: `on`, but `off` at any level other than `process` without a `policy`. */
  readonly fileSystem?: 'on' | 'off';
  /** Whether `http/request` works. The same default. */
  readonly http?: 'on' | 'off';
  /** Decides about every connection of `http/request`. Default: the network of `policy`; without one all are allowed. */
  readonly networkPolicy?: NetworkPolicy;
  /** What to do when a client describes a sandbox of its own, which is not enforced here. Default: `refuse`. */
  readonly sandboxRequests?: 'refuse' | 'ignore';
  readonly clock?: Clock;
  /** Hears of every process and HTTP request, and may refuse it. */
  readonly observer?: ExecObserver;
}

/** A server of the process protocol: a handler, and what serves it to others. */
export interface ExecServer extends AsyncDisposable {
  /** Knows no JSON; `ExecClient.connectInProcess` calls it directly. */
  readonly handler: ExecHandler;
  readonly limits: ProcessLimits;
  /** How a transport must decode, so that malformed messages get the protocol's answer, and what may wait in it. */
  readonly transportOptions: JsonMessageOptions & { readonly maxBacklogBytes: number };
  /** Serves one client until its transport ends. */
  serveConnection(transport: Transport<unknown, unknown>, options?: ConnectionOptions): ServedConnection;
  /** Ends the sessions that fit, with all their processes, whether a connection is attached or not. */
  endSessions(fits: (session: ObservedSession) => boolean): Promise<void>;
  /** Ends every session with all its processes. */
  dispose(): Promise<void>;
}

/** Makes a server. It listens to nothing by itself: hand it transports. */
export function createExecServer(options: ExecServerOptions = {}): ExecServer {
  const limits = processLimits(options.limits);
  const { level = 'process', policy } = options;
  // Files and network of the server would be a way around a level that confines commands.
  const reach = level === 'process' || policy !== undefined ? 'on' : 'off';
  const spawner = options.spawner ?? createSpawner();
  const { EXECUTOR_API_KEY: _secret, ...environment } = options.environment ?? process.env;
  const handler = new ExecHandler({
    spawner,
    level,
    limits,
    clock: options.clock,
    environment,
    fileSystem: options.fileSystem ?? reach,
    http: options.http ?? reach,
    // A hook of the embedder's own decides in place of the policy, which would refuse everything by default.
    networkGate: options.networkPolicy === undefined && policy !== undefined ? networkGate(policy.network) : undefined,
    networkPolicy: options.networkPolicy ?? (() => ({ allow: true })),
    policy,
    sandboxRequests: options.sandboxRequests ?? 'refuse',
    observer: options.observer,
  });
  const dispose = async (): Promise<void> => {
    await handler.dispose();
    if (options.spawner === undefined) await spawner.dispose();
  };
  return {
    handler,
    limits,
    transportOptions: {
      budget: { bytes: limits.messageBytes, values: limits.messageValues, depth: limits.messageDepth },
      onMalformed: (error) => new Malformed(error),
      maxBacklogBytes: limits.backlogBytes,
    },
    serveConnection: (transport, connection) => new Connection(handler, transport, connection),
    endSessions: (fits) => handler.sessions.endWhere(fits),
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

import type { IncomingMessage, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { createUpgrader, refuseUpgrade, type Upgrader } from '../../wire/index.js';
import type { Caller } from '../access/caller.js';
import { type AccessRules, judge, pathOf, SUBPROTOCOL, socketTokenOf, subprotocolsOf } from '../access/judge.js';
import type { Boundary, KeyRing } from '../access/keys.js';
import type { Problem } from '../http/problem.js';
import type { Parts } from '../parts.js';
import { type SessionCallers, serveExec } from './exec.js';
import { serveGuest } from './guest.js';
import { watchLiveness } from './keep-alive.js';
import { serveWasm } from './wasm.js';

interface Endpoint {
  readonly boundary: Boundary;
  /** The module, for those that have one. */
  readonly module?: string;
  /** Returns how to end it. */
  readonly serve: (socket: WebSocket, caller: Caller) => (reason: string) => void;
}

export interface SocketOptions {
  readonly server: Server;
  readonly rules: AccessRules;
  readonly keys: KeyRing;
  readonly parts: Parts;
  readonly sessions: SessionCallers;
  readonly onRefused: (problem: Problem, path: string) => void;
}

const WASM_PATH = /^\/wasm\/([^/]+)$/;

/** Serves the WebSocket paths of a server. Every check comes before the upgrade. */
export function serveSockets(options: SocketOptions): Upgrader {
  const { server, rules, keys, parts, sessions, onRefused } = options;
  const upgrader = createUpgrader({ subprotocol: SUBPROTOCOL });

  const endpointOf = (path: string): Endpoint | undefined => {
    if (path === '/exec') {
      return { boundary: 'process', serve: (socket, caller) => serveExec(socket, caller, parts.execServer, sessions) };
    }
    if (path === '/guest') {
      return { boundary: 'guest', serve: (socket, caller) => serveGuest(socket, caller, parts) };
    }
    const module = WASM_PATH.exec(path)?.[1];
    if (module === undefined || !parts.modules.has(module)) return undefined;
    return { boundary: 'wasm', module, serve: (socket, caller) => serveWasm(socket, caller, module, parts) };
  };

  /** Says why a caller may not have a socket, or nothing: asked before the upgrade, and again when keys change. */
  const refused = (caller: Caller, { boundary, module }: Endpoint): Problem | undefined =>
    parts.quotas.forbids(caller, boundary) ??
    (module === undefined ? undefined : parts.quotas.restricts(caller, 'modules', module));

  const decide = (request: IncomingMessage): Problem | { readonly endpoint: Endpoint; readonly caller: Caller } => {
    if (request.headers.upgrade?.toLowerCase() !== 'websocket') {
      return { status: 400, code: 'INVALID_REQUEST', message: 'only WebSockets can be upgraded to' };
    }
    const verdict = judge(request, socketTokenOf(request), rules, keys);
    if (!verdict.ok) return verdict.problem;
    const { caller } = verdict;
    const endpoint = endpointOf(pathOf(request));
    if (endpoint === undefined)
      return { status: 404, code: 'NOT_FOUND', message: 'there is no WebSocket at this path' };
    const offered = subprotocolsOf(request);
    if (offered.length > 0 && !offered.includes(SUBPROTOCOL)) {
      const message = `offer the subprotocol ${SUBPROTOCOL} as well: the one with the token is never said back`;
      return { status: 400, code: 'INVALID_REQUEST', message };
    }
    return refused(caller, endpoint) ?? parts.quotas.closed() ?? { endpoint, caller };
  };

  server.on('upgrade', (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    const decision = decide(request);
    if ('status' in decision) {
      onRefused(decision, pathOf(request));
      return refuseUpgrade(stream, decision.status, decision.message);
    }
    upgrader.upgrade(request, stream, head, (socket) => {
      watchLiveness(socket, parts.limits.socketIdleMs);
      const { endpoint, caller } = decision;
      const end = endpoint.serve(socket, caller);
      socket.once('close', parts.admissions.add({ refused: () => refused(caller, endpoint), end }));
    });
  });
  return upgrader;
}

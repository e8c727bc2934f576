import type { ProxyDecision } from '../sandbox/index.js';
import type { NetworkTarget } from './http-request.js';

/** Which client something is done for. */
export interface ObservedSession {
  readonly id: string;
  readonly principal: string;
}

/** A process that is about to be started. */
export interface AskedProcess {
  readonly processId: string;
  readonly argv: readonly string[];
  readonly tty: boolean;
  readonly timeoutMs: number | undefined;
  /** Ends it. */
  readonly terminate: () => void;
}

export interface ProcessWatcher {
  started(pid: number): void;
  /** Tells of a connection that a level with a network of its own allowed or refused. */
  connected(decision: ProxyDecision): void;
  ended(end: { readonly exitCode: number; readonly timedOut: boolean } | { readonly problem: string }): void;
}

export interface RequestWatcher {
  decided(target: NetworkTarget, verdict: { readonly allow: boolean; readonly reason?: string }): void;
  ended(problem: string | undefined): void;
}

/** Hears of everything that a server does for its clients, and may refuse it. */
export interface ExecObserver {
  process(session: ObservedSession, asked: AskedProcess): ProcessWatcher | { readonly refuse: string };
  request(
    session: ObservedSession,
    asked: { readonly requestId: string; readonly method: string; readonly url: string },
  ): RequestWatcher | { readonly refuse: string };
}

import type { WebSocket } from 'ws';
import type { AskedProcess, ExecObserver, ExecServer, ObservedSession } from '../../process/index.js';
import { webSocketTransport } from '../../wire/index.js';
import type { Caller } from '../access/caller.js';
import type { Quotas } from '../access/quotas.js';
import { networkUse } from '../audit/network-use.js';
import type { AuditTrail } from '../audit/trail.js';
import type { Isolation } from '../isolation.js';

/** Which caller a session belongs to, whatever connection it has now: known for as long as there is the session. */
export class SessionCallers {
  readonly #callers = new WeakMap<ObservedSession, Caller>();

  set(session: ObservedSession, caller: Caller): void {
    this.#callers.set(session, caller);
  }

  get(session: ObservedSession): Caller | undefined {
    return this.#callers.get(session);
  }
}

/** What is answered in a session that no connection of this server has opened: nobody would be asked what may be done in it. */
const STRANGER = { refuse: 'nobody knows whose session this is' } as const;

/** Notes every process and HTTP request of the process boundary, and refuses what the caller may not have. */
export function observeExec(
  callers: SessionCallers,
  { trail, quotas, isolation }: { readonly trail: AuditTrail; readonly quotas: Quotas; readonly isolation: Isolation },
): ExecObserver {
  const common = { kind: 'process', via: 'WS /exec', isolation: isolation.levels.process } as const;
  return {
    process(session, asked) {
      const caller = callers.get(session);
      if (caller === undefined) return STRANGER;
      const program = asked.argv[0] ?? '';
      const problem = quotas.charge(caller) ?? quotas.restricts(caller, 'programs', program);
      if (problem !== undefined) return { refuse: problem.message };
      let cancelled = false;
      const cancel = (): void => {
        cancelled = true;
        asked.terminate();
      };
      const execution = trail.open({ ...common, label: labelOf(asked), limits: limitsOf(asked), cancel }, caller);
      return {
        started(pid) {
          execution.started();
          execution.used({ type: 'process', name: `${program} (${pid})`, outcome: 'started' });
        },
        connected: (decision) => execution.used(networkUse(decision)),
        ended(end) {
          if ('problem' in end) {
            execution.used({ type: 'process', name: program, outcome: 'failed', reason: end.problem });
            execution.ended({ status: 'failed', code: 'spawn', message: end.problem });
            return;
          }
          const { exitCode, timedOut } = end;
          if (cancelled) execution.ended({ status: 'cancelled', code: `exit ${exitCode}` });
          else if (timedOut) execution.ended({ status: 'failed', code: 'timeout', limit: 'time' });
          else execution.ended({ status: exitCode === 0 ? 'succeeded' : 'failed', code: `exit ${exitCode}` });
        },
      };
    },
    request(session, { method, url }) {
      const caller = callers.get(session);
      if (caller === undefined) return STRANGER;
      const problem = quotas.charge(caller);
      if (problem !== undefined) return { refuse: problem.message };
      // Neither a query nor a user name belongs in a log.
      const { origin } = new URL(url);
      const execution = trail.open({ ...common, label: `http/request ${method} ${origin}`, limits: {} }, caller);
      execution.started();
      return {
        decided(target, verdict) {
          const { reason } = verdict;
          execution.used({
            type: 'network',
            name: `${target.url.hostname} ${target.address}:${target.port}`,
            outcome: verdict.allow ? 'allowed' : 'denied',
            ...(reason === undefined ? {} : { reason }),
          });
        },
        ended(problemText) {
          if (problemText === undefined) execution.ended({ status: 'succeeded', code: 'ok' });
          else execution.ended({ status: 'failed', code: 'http', message: problemText });
        },
      };
    },
  };
}

// Arguments may hold secrets: the program and their number are told.
function labelOf({ argv, tty }: AskedProcess): string {
  const count = argv.length - 1;
  return `${argv[0] ?? ''} (${count} argument${count === 1 ? '' : 's'}${tty ? ', terminal' : ''})`;
}

function limitsOf({ timeoutMs }: AskedProcess): Record<string, number> {
  return timeoutMs === undefined ? {} : { timeoutMs };
}

/** Serves the process boundary, both dialects, on one socket. Returns how to end it. */
export function serveExec(
  socket: WebSocket,
  caller: Caller,
  server: ExecServer,
  callers: SessionCallers,
): (reason: string) => void {
  const connection = server.serveConnection(webSocketTransport(socket, server.transportOptions), {
    // Whoever has the same key may resume the session, from wherever they connect.
    principal: caller.key?.name ?? '',
    onSession: (session) => callers.set(session, caller),
  });
  return (reason) => connection.close(reason);
}

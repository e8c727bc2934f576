import type { Parts } from '../parts.js';
import type { SessionCallers } from '../sockets/exec.js';

/** Ends what is open or runs for keys that are gone, or that may not use its boundary any more. */
export function endWithdrawn({ admissions, quotas, trail, execServer }: Parts, sessions: SessionCallers): void {
  admissions.review();
  for (const execution of [...trail.running]) {
    const { caller, kind } = execution;
    const problem = caller === undefined ? undefined : quotas.forbids(caller, kind);
    if (problem !== undefined) execution.cancel(problem.message);
  }
  // They would wait for their client to come back.
  void execServer.endSessions((session) => {
    const caller = sessions.get(session);
    return caller === undefined || quotas.forbids(caller, 'process') !== undefined;
  });
}

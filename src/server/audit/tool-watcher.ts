import type { Execution, ToolLimits } from '../../tool/index.js';
import { type Caller, callers } from '../access/caller.js';
import type { KeyRing } from '../access/keys.js';
import type { Quotas } from '../access/quotas.js';
import { networkUse } from './network-use.js';
import type { AuditTrail } from './trail.js';

function labelOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return 'tool';
  const { packageName, version, name }: { packageName?: unknown; version?: unknown; name?: unknown } = data;
  return `${String(packageName)}@${String(version)} ${String(name)}`;
}

/** No key has it: whoever is known by it alone is known by a key that is gone. */
const NO_HASH = '';

/** Who asked for an execution that an earlier server accepted: the key of that name, also when there is none any more. */
function earlierCaller({ owner }: Execution, keys: KeyRing): Caller | undefined {
  if (owner === undefined) return undefined;
  return { key: keys.named(owner) ?? { name: owner, hash: NO_HASH }, address: null };
}

export interface ToolWatch {
  readonly trail: AuditTrail;
  readonly keys: KeyRing;
  readonly quotas: Quotas;
  readonly limits: ToolLimits;
  readonly level: string;
}

/**
 * Notes an execution of the tool boundary. The caller is the one whose request is being handled right now; one that is taken
 * over from an earlier server ends here when its key may not run it any more.
 */
export function watchTool({ trail, keys, quotas, limits, level }: ToolWatch): (execution: Execution) => void {
  return (execution) => {
    const { maxExecutionTimeMs, childHeapMegabytes } = limits;
    const caller = callers.getStore() ?? earlierCaller(execution, keys);
    const noted = trail.open(
      {
        id: execution.id,
        kind: 'tool',
        via: 'POST /execute-tool',
        label: 'tool',
        isolation: level,
        limits: { maxExecutionTimeMs, childHeapMegabytes },
        cancel: (reason) => execution.cancel(reason),
      },
      caller,
    );
    execution.onNetworkDecision = (decision) => noted.used(networkUse(decision));
    execution.onPutOff = () => noted.putOff();
    // Only the beginning: the end comes with the response.
    const controller = new AbortController();
    const stop = execution.events.follow(0, ({ event, data }) => {
      if (event !== 'start') return;
      noted.started(labelOf(data));
      controller.abort();
    });
    if (controller.signal.aborted) stop();
    else controller.signal.addEventListener('abort', stop, { once: true });
    void execution.done.then((response) => {
      if (response.success) return noted.ended({ status: 'succeeded', code: 'ok' });
      const { code, message } = response.error;
      const status = code === 'EXECUTION_CANCELLED' ? 'cancelled' : 'failed';
      return noted.ended({
        status,
        code,
        message,
        ...(code === 'EXECUTION_TIMEOUT' ? { limit: 'time' as const } : {}),
      });
    });
    const problem = caller === undefined ? undefined : quotas.forbids(caller, 'tool');
    if (problem !== undefined) execution.cancel(problem.message);
  };
}

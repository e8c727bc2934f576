import type { Execution, ToolLimits } from '../../tool/index.js';
import { callers } from '../access/caller.js';
import { networkUse } from './network-use.js';
import type { AuditTrail } from './trail.js';

function labelOf(data: unknown): string {
  if (typeof data !== 'object' || data === null) return 'tool';
  const { packageName, version, name }: { packageName?: unknown; version?: unknown; name?: unknown } = data;
  return `${String(packageName)}@${String(version)} ${String(name)}`;
}

/** Notes an execution of the tool boundary. The caller is the one whose request is being handled right now. */
export function watchTool(trail: AuditTrail, limits: ToolLimits, level: string): (execution: Execution) => void {
  return (execution) => {
    const { maxExecutionTimeMs, childHeapMegabytes } = limits;
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
      callers.getStore(),
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
  };
}

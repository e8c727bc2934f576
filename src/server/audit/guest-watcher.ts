import type { ExecuteErrorCode, ExecuteResult, ExecutionEvent } from '../../guest/index.js';
import type { AuditedExecution } from './execution.js';
import type { Outcome } from './record.js';

const LIMITS: Partial<Record<ExecuteErrorCode, Outcome['limit']>> = { timeout: 'time', memory_limit: 'memory' };

/** Says how a guest's execution ended. `cancelled` is a timeout that somebody asked for. */
export function guestOutcome(result: ExecuteResult, ending: 'natural' | 'cancelled'): Outcome {
  if (result.ok) return { status: 'succeeded', code: 'ok' };
  const { code, message } = result.error;
  const limit = ending === 'cancelled' ? undefined : LIMITS[code];
  return {
    status: ending === 'cancelled' ? 'cancelled' : 'failed',
    code,
    message,
    ...(limit === undefined ? {} : { limit }),
  };
}

/** Notes in the trail what a guest does. */
export function watchGuest(
  execution: AuditedExecution,
  ending: () => 'natural' | 'cancelled',
): (event: ExecutionEvent) => void {
  return (event) => {
    if (event.type === 'started') execution.started();
    else if (event.type === 'tool_result') {
      const { providerName, safeToolName, durationMs } = event;
      execution.used({
        type: 'tool',
        name: `${providerName}.${safeToolName}`,
        outcome: event.ok ? 'ok' : 'failed',
        durationMs: Math.round(durationMs),
        ...(event.ok ? {} : { reason: event.error.code }),
      });
    } else if (event.type === 'done') execution.ended(guestOutcome(event.result, ending()));
  };
}

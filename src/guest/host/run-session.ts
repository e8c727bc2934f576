import { randomUUID } from 'node:crypto';
import type { ToolProvider } from '../../capabilities/index.js';
import type { Transport } from '../../wire/index.js';
import { REMOTE_CANCEL_GRACE_MS } from '../limits.js';
import type { ExecuteResult } from '../messages.js';
import { dispatchTo } from './dispatch.js';
import { driveSession } from './drive-session.js';
import { checkRequest, type ExecuteOptions, refusal } from './executor.js';

export interface RunSessionOptions extends ExecuteOptions {
  /** A transport to a runner. The caller owns it. */
  readonly transport: Transport<unknown, unknown>;
  readonly code: string;
  readonly providers?: ToolProvider | readonly ToolProvider[];
  readonly startTimeoutMs?: number;
  readonly cancelGraceMs?: number;
}

/** Runs one program with anyone's runner, over a transport that the caller opened and closes. Never rejects. */
export async function runSession(options: RunSessionOptions): Promise<ExecuteResult> {
  const { transport, code, providers = [], startTimeoutMs, cancelGraceMs, ...rest } = options;
  const checked = checkRequest(code, providers, rest, {});
  if (!checked.ok) return refusal('validation_error', checked.reason);
  const executionId = randomUUID();
  const { result } = await driveSession({
    ...checked,
    transport,
    options: { ...checked.options, ...(checked.onEvent ? { streamLogs: true } : {}) },
    dispatch: dispatchTo(checked.providers, executionId),
    executionId,
    cancelGraceMs: cancelGraceMs ?? REMOTE_CANCEL_GRACE_MS,
    ...(startTimeoutMs === undefined ? {} : { startTimeoutMs }),
  });
  return result;
}

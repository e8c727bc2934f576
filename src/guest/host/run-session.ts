import type { ToolProvider } from '../../capabilities/index.js';
import type { Transport } from '../../wire/index.js';
import type { ExecuteResult } from '../messages.js';
import { driveSession } from './drive-session.js';
import { checkRequest, type ExecuteOptions, farSession, refusal } from './executor.js';

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
  const { result } = await driveSession({ ...farSession(checked, { startTimeoutMs, cancelGraceMs }), transport });
  return result;
}

import { randomUUID } from 'node:crypto';
import { type ToolProvider, toManifest } from '../../capabilities/index.js';
import { openWebSocket, type Transport, webSocketTransport } from '../../wire/index.js';
import { DEFAULT_MAX_CODE_BYTES, REMOTE_CANCEL_GRACE_MS } from '../limits.js';
import type { ExecuteResult } from '../messages.js';
import { TIMED_OUT } from '../runner/execution.js';
import { dispatchTo } from './dispatch.js';
import { driveSession, type SessionEnd, type SessionRequest } from './drive-session.js';
import {
  checkRequest,
  type ExecuteLimits,
  type ExecuteOptions,
  type Executor,
  type ExecutorStats,
  refusal,
} from './executor.js';

export interface RemoteExecutorOptions {
  /** Opens a fresh transport to a runner. Either this or `url`. */
  readonly connect?: (signal: AbortSignal) => Promise<Transport<unknown, unknown>>;
  /** The address of a runner that speaks the protocol over WebSocket. */
  readonly url?: string;
  /** Sent as a bearer token with `url`. */
  readonly token?: string;
  /** How long a connection may take to open. */
  readonly connectTimeoutMs?: number;
  /** How long the runner may take to answer `execute` with `started`. */
  readonly startTimeoutMs?: number;
  /** How long the runner may take to end after a cancel, or after its own time limit. */
  readonly cancelGraceMs?: number;
  readonly limits?: ExecuteLimits;
  readonly maxCodeBytes?: number;
}

/** Makes an executor whose guests run elsewhere: a fresh transport per execution, closed afterwards. */
export function createRemoteExecutor(options: RemoteExecutorOptions): Executor {
  return new RemoteExecutor(options);
}

class RemoteExecutor implements Executor {
  readonly #options: RemoteExecutorOptions;
  readonly #connect: (signal: AbortSignal) => Promise<Transport<unknown, unknown>>;
  readonly #running = new Set<Promise<unknown>>();
  readonly #abort = new AbortController();
  #disposed = false;
  #executions = 0;
  #failures = 0;

  constructor(options: RemoteExecutorOptions) {
    const { connect, url, token, connectTimeoutMs } = options;
    if ((connect === undefined) === (url === undefined)) throw new TypeError('give either `connect` or `url`');
    this.#options = options;
    this.#connect =
      connect ??
      (async (signal) => {
        const settings = {
          signal,
          ...(token === undefined ? {} : { token }),
          ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
        };
        return webSocketTransport(await openWebSocket(url ?? '', settings));
      });
  }

  execute(
    code: string,
    providers: ToolProvider | readonly ToolProvider[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult> {
    const { signal, onEvent, ...limits } = options;
    this.#executions += 1;
    const checked = checkRequest(
      code,
      providers,
      { ...this.#options.limits, ...limits },
      this.#options.maxCodeBytes ?? DEFAULT_MAX_CODE_BYTES,
    );
    const executionId = randomUUID();
    const run = checked.ok
      ? this.#run({
          code,
          manifests: checked.providers.map(toManifest),
          // A runner that knows how sends its logs as they come; another ignores the wish.
          options: { ...checked.options, ...(onEvent ? { streamLogs: true } : {}) },
          dispatch: dispatchTo(checked.providers, executionId),
          executionId,
          signal: signal ? AbortSignal.any([signal, this.#abort.signal]) : this.#abort.signal,
          cancelGraceMs: this.#options.cancelGraceMs ?? REMOTE_CANCEL_GRACE_MS,
          ...(this.#options.startTimeoutMs === undefined ? {} : { startTimeoutMs: this.#options.startTimeoutMs }),
          ...(onEvent ? { onEvent } : {}),
        })
      : Promise.resolve(refusal('validation_error', checked.reason));
    const counted = run.then((result) => {
      if (!result.ok) this.#failures += 1;
      return result;
    });
    this.#running.add(counted);
    return counted.finally(() => this.#running.delete(counted));
  }

  /** There is nothing to start: each execution opens its own connection. */
  async prewarm(): Promise<void> {}

  stats(): ExecutorStats {
    const busy = this.#running.size;
    return {
      shells: busy,
      idle: 0,
      busy,
      queued: 0,
      replaced: 0,
      executions: this.#executions,
      failures: this.#failures,
    };
  }

  async dispose({ mode = 'drain' }: { readonly mode?: 'drain' | 'abort' } = {}): Promise<void> {
    this.#disposed = true;
    if (mode === 'abort') this.#abort.abort(new Error('the executor is disposed'));
    await Promise.all(this.#running);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #run(request: Omit<SessionRequest, 'transport'> & { signal: AbortSignal }): Promise<ExecuteResult> {
    if (this.#disposed) return refusal('internal_error', 'the executor is disposed');
    let transport: Transport<unknown, unknown>;
    try {
      transport = await this.#connect(request.signal);
    } catch (error) {
      if (request.signal.aborted) return refusal('timeout', TIMED_OUT);
      return refusal(
        'internal_error',
        `no runner could be reached: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
    let end: SessionEnd | undefined;
    try {
      end = await driveSession({ ...request, transport });
      return end.result;
    } finally {
      if (end?.reusable) transport.close('the execution is done');
      else transport.terminate();
    }
  }
}

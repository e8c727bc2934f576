import type { ToolProvider } from '../../capabilities/index.js';
import { CONNECT_TIMEOUT_MS, openWebSocket, type Transport, webSocketTransport } from '../../wire/index.js';
import { MESSAGE_BUDGET } from '../limits.js';
import type { ExecuteResult } from '../messages.js';
import { TIMED_OUT } from '../runner/execution.js';
import { driveSession, type SessionEnd, type SessionRequest } from './drive-session.js';
import {
  checkRequest,
  type ExecuteLimits,
  type ExecuteOptions,
  type Executor,
  type ExecutorStats,
  farSession,
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
          maxMessageBytes: MESSAGE_BUDGET.bytes,
          signal,
          ...(token === undefined ? {} : { token }),
          ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
        };
        return webSocketTransport(await openWebSocket(url ?? '', settings), { budget: MESSAGE_BUDGET });
      });
  }

  execute(
    code: string,
    providers: ToolProvider | readonly ToolProvider[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult> {
    this.#executions += 1;
    const checked = checkRequest(code, providers, options, this.#options);
    const run = checked.ok
      ? this.#run({
          ...farSession(checked, this.#options),
          signal: checked.signal ? AbortSignal.any([checked.signal, this.#abort.signal]) : this.#abort.signal,
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

  /** Waits for a connection no longer than it may take, whatever `connect` does. One that comes too late is closed. */
  async #connectInTime(signal: AbortSignal): Promise<Transport<unknown, unknown>> {
    const limitMs = this.#options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS;
    const gaveUp = new AbortController();
    const connecting = this.#connect(AbortSignal.any([signal, gaveUp.signal]));
    let timer: NodeJS.Timeout | undefined;
    let onAbort = (): void => {};
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`no connection within ${limitMs} ms`)), limitMs);
      onAbort = () => reject(new Error('the caller gave up'));
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
    try {
      return await Promise.race([connecting, late]);
    } catch (error) {
      gaveUp.abort();
      connecting.then(
        (transport) => transport.terminate(),
        () => {},
      );
      throw error;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      late.catch(() => {});
    }
  }

  async #run(request: Omit<SessionRequest, 'transport'> & { signal: AbortSignal }): Promise<ExecuteResult> {
    if (this.#disposed) return refusal('internal_error', 'the executor is disposed');
    let transport: Transport<unknown, unknown>;
    try {
      transport = await this.#connectInTime(request.signal);
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

import type { ToolOutcome } from '../../capabilities/index.js';
import { confiningSpawner, type Spawner } from '../../sandbox/index.js';
import type { Transport } from '../../wire/index.js';
import type { ExecutionEvent } from '../host/events.js';
import { refusal, runIn, shellOpener } from '../host/executor.js';
import { guestRoomPolicy } from '../host/room.js';
import type { GuestIsolation } from '../host/shell.js';
import { type PoolStats, ShellPool } from '../host/shell-pool.js';
import { DEFAULT_MAX_CODE_BYTES, MAX_QUEUED_EXECUTIONS } from '../limits.js';
import {
  type ExecuteMessage,
  type ExecutorRuntimeOptions,
  isExecuteErrorCode,
  type ToolCallMessage,
} from '../messages.js';
import { TIMED_OUT } from './execution.js';
import { HostLink } from './host-link.js';

export interface RunnerOptions {
  /** Where guests run: `thread` (the default), `process`, `container` or `inline`. */
  readonly isolation?: GuestIsolation;
  /** The largest program, in UTF-8 bytes. */
  readonly maxCodeBytes?: number;
  readonly spawner?: Spawner;
  /** Shells that several runners share, so that a connection finds one that is warm. Instead of `isolation`. */
  readonly shells?: RunnerShells;
  /** Asked before each execution: it may be refused, or watched. */
  readonly onExecution?: (execution: AskedExecution) => ExecutionVerdict;
}

/** What a far host asks a runner for. */
export interface AskedExecution {
  /** The id that the host chose. */
  readonly id: string;
  readonly options: ExecutorRuntimeOptions;
  /** Ends it, as a cancel of the host does. */
  readonly cancel: () => void;
}

/** Who watches an execution, or why it is not run. */
export type ExecutionVerdict =
  | { readonly accept: true; readonly onEvent: (event: ExecutionEvent) => void }
  | { readonly accept: false; readonly reason: string };

/** Shells for many runners. Whoever makes them disposes of them. */
export interface RunnerShells {
  /** @internal */
  readonly pool: ShellPool;
  prewarm(): Promise<void>;
  stats(): PoolStats;
  dispose(): Promise<void>;
}

export interface RunnerShellsOptions {
  readonly isolation?: GuestIsolation;
  /** How many executions run at once over all runners. */
  readonly size: number;
  readonly spawner?: Spawner;
}

/** Makes shells that several runners share. */
export function createRunnerShells({ isolation = 'thread', size, spawner }: RunnerShellsOptions): RunnerShells {
  let own: Spawner | undefined;
  const open = shellOpener(isolation, () => {
    if (spawner) return spawner;
    own ??= confiningSpawner(guestRoomPolicy());
    return own;
  });
  const pool = new ShellPool(open, size, MAX_QUEUED_EXECUTIONS);
  return {
    pool,
    prewarm: () => pool.prewarm(),
    stats: () => pool.stats,
    dispose: async () => {
      await pool.close();
      await own?.dispose();
    },
  };
}

export interface AttachedRunner extends AsyncDisposable {
  /** Starts what an execution needs, so that the first does not wait for it. */
  prewarm(): Promise<void>;
  /**
   * Says that the far host sends nothing more, and resolves when the active execution has ended. One that waits for a tool
   * is ended at once: nobody is there to answer.
   */
  drain(): Promise<void>;
  /** Resolves when the transport has closed and nothing is left. */
  readonly closed: Promise<void>;
  /** Ends the session and everything in it. */
  dispose(): Promise<void>;
}

/** Serves the runner's side of the protocol on a transport, one execution at a time, as long as the transport lasts. */
export function attachRunner(transport: Transport<unknown, unknown>, options: RunnerOptions = {}): AttachedRunner {
  return new RunnerFront(transport, options);
}

interface Active {
  readonly id: string;
  readonly abort: AbortController;
  readonly calls: Map<string, (outcome: ToolOutcome) => void>;
}

/**
 * Stands between the far host and a shell: reads messages while the guest is busy, keeps the time, and answers for a shell
 * that does not.
 *
 *     idle ──execute──▶ active ──done──▶ idle
 *     active ──execute──▶ active   (the new one is answered with `internal_error`)
 *     any ──close──▶ closed        (the active execution is ended)
 */
class RunnerFront implements AttachedRunner {
  readonly closed: Promise<void>;
  readonly #host: HostLink;
  readonly #shells: RunnerShells;
  readonly #maxCodeBytes: number;
  readonly #onExecution: RunnerOptions['onExecution'];
  #active: Active | undefined;
  #running: Promise<void> = Promise.resolve();
  #calls = 0;
  #alone = false;

  constructor(transport: Transport<unknown, unknown>, options: RunnerOptions) {
    this.#host = new HostLink(transport);
    this.#maxCodeBytes = options.maxCodeBytes ?? DEFAULT_MAX_CODE_BYTES;
    this.#onExecution = options.onExecution;
    const { shells, isolation, spawner } = options;
    const own =
      shells ?? createRunnerShells({ size: 1, ...(isolation ? { isolation } : {}), ...(spawner ? { spawner } : {}) });
    this.#shells = own;
    transport.onMessage((value) => this.#onMessage(value));
    this.closed = new Promise((resolve) => {
      transport.onClose(() => {
        this.#active?.abort.abort();
        resolve(this.#running.then(() => (shells ? undefined : own.dispose())));
      });
    });
  }

  prewarm(): Promise<void> {
    return this.#shells.prewarm();
  }

  drain(): Promise<void> {
    this.#alone = true;
    if (this.#active !== undefined && this.#active.calls.size > 0) this.#active.abort.abort();
    return this.#running;
  }

  async dispose(): Promise<void> {
    this.#host.close('the runner is disposed');
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #onMessage(value: unknown): void {
    const message = this.#host.read(value);
    if (message === undefined) return;
    switch (message.type) {
      case 'execute':
        return this.#execute(message);
      case 'cancel':
        if (this.#active?.id === message.id) this.#active.abort.abort();
        return;
      case 'tool_result': {
        // A result that nobody waits for any more is late, not wrong.
        const settle = this.#active?.calls.get(message.callId);
        this.#active?.calls.delete(message.callId);
        if (message.ok) settle?.({ ok: true, result: message.result as never });
        else {
          const { code, message: text } = message.error;
          settle?.({
            ok: false,
            error: { code: (isExecuteErrorCode(code) ? code : 'tool_error') as never, message: text },
          });
        }
      }
    }
  }

  #execute(message: ExecuteMessage): void {
    const bytes = Buffer.byteLength(message.code);
    if (bytes > this.#maxCodeBytes) {
      const reason = `execute.code has ${bytes} bytes, more than the limit of ${this.#maxCodeBytes}`;
      return this.#host.refuse(message.id, 'validation_error', reason);
    }
    if (this.#active) return this.#host.refuseSecond(message.id);
    const active: Active = { id: message.id, abort: new AbortController(), calls: new Map() };
    const verdict = this.#onExecution?.({
      id: message.id,
      options: message.options,
      cancel: () => active.abort.abort(),
    });
    if (verdict?.accept === false) return this.#host.refuse(message.id, 'internal_error', verdict.reason);
    this.#active = active;
    this.#running = this.#run(message, active, verdict?.onEvent ?? (() => {}));
  }

  async #run(message: ExecuteMessage, active: Active, watch: (event: ExecutionEvent) => void): Promise<void> {
    const { id, code, options, providers: manifests } = message;
    let result: Awaited<ReturnType<typeof runIn>>;
    try {
      const shell = await this.#shells.pool.take(active.abort.signal);
      result = await runIn(this.#shells.pool, shell, {
        code,
        manifests,
        options: { ...options, streamLogs: true },
        executionId: id,
        signal: active.abort.signal,
        dispatch: (call) => this.#forward(call, active),
        onEvent: (event) => {
          if (event.type === 'started') this.#host.send({ type: 'started', id });
          if (event.type === 'log' && options.streamLogs === true)
            this.#host.send({ type: 'log', id, line: event.line });
          if (event.type !== 'done') watch(event);
        },
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      result = active.abort.signal.aborted
        ? refusal('timeout', TIMED_OUT)
        : refusal('internal_error', `no guest could run this: ${reason}`);
    }
    this.#active = undefined;
    try {
      watch({ type: 'done', executionId: id, result });
    } catch {
      // A watcher that fails has failed itself: the host gets its answer.
    }
    this.#host.send({ type: 'done', id, ...result });
  }

  /** Asks the far host. Call ids are ours, so that none is used twice however often a shell is replaced. */
  #forward(call: ToolCallMessage, active: Active): Promise<ToolOutcome> {
    return new Promise((resolve) => {
      this.#calls += 1;
      const callId = `call-${this.#calls}`;
      active.calls.set(callId, resolve);
      this.#host.send({ ...call, callId });
      if (this.#alone) active.abort.abort();
    });
  }
}

import type { ToolOutcome } from '../../capabilities/index.js';
import { createSpawner, type Spawner } from '../../sandbox/index.js';
import type { Transport } from '../../wire/index.js';
import { runIn, shellOpener } from '../host/executor.js';
import type { GuestIsolation } from '../host/shell.js';
import { ShellPool } from '../host/shell-pool.js';
import { DEFAULT_MAX_CODE_BYTES } from '../limits.js';
import {
  type ExecuteMessage,
  isExecuteErrorCode,
  parseHostMessage,
  type RunnerMessage,
  type ToolCallMessage,
} from '../messages.js';

export interface RunnerOptions {
  /** Where guests run: `thread` (the default), `process` or `inline`. */
  readonly isolation?: GuestIsolation;
  /** The largest program, in UTF-8 bytes. */
  readonly maxCodeBytes?: number;
  readonly spawner?: Spawner;
}

export interface AttachedRunner extends AsyncDisposable {
  /** Starts what an execution needs, so that the first does not wait for it. */
  prewarm(): Promise<void>;
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
  readonly #transport: Transport<unknown, RunnerMessage>;
  readonly #pool: ShellPool;
  readonly #maxCodeBytes: number;
  #spawner: Spawner | undefined;
  #active: Active | undefined;
  #calls = 0;

  constructor(transport: Transport<unknown, unknown>, options: RunnerOptions) {
    this.#transport = transport;
    this.#maxCodeBytes = options.maxCodeBytes ?? DEFAULT_MAX_CODE_BYTES;
    const open = shellOpener(options.isolation ?? 'thread', () => {
      if (options.spawner) return options.spawner;
      this.#spawner ??= createSpawner();
      return this.#spawner;
    });
    this.#pool = new ShellPool(open, 1, 1);
    transport.onMessage((value) => this.#onMessage(value));
    this.closed = new Promise((resolve) => {
      transport.onClose(() => {
        this.#active?.abort.abort();
        resolve(this.#release());
      });
    });
  }

  prewarm(): Promise<void> {
    return this.#pool.prewarm();
  }

  async dispose(): Promise<void> {
    this.#transport.close('the runner is disposed');
    await this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  #onMessage(value: unknown): void {
    const parsed = parseHostMessage(value);
    if (!parsed.ok) {
      if (parsed.id === undefined) this.#transport.close(parsed.reason);
      else this.#refuse(parsed.id, 'validation_error', parsed.reason);
      return;
    }
    const { message } = parsed;
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
      return this.#refuse(message.id, 'validation_error', reason);
    }
    if (this.#active) return this.#refuse(message.id, 'internal_error', 'another execution is active on this session');
    const active: Active = { id: message.id, abort: new AbortController(), calls: new Map() };
    this.#active = active;
    void this.#run(message, active);
  }

  async #run(message: ExecuteMessage, active: Active): Promise<void> {
    const { id, code, options, providers: manifests } = message;
    let result: Awaited<ReturnType<typeof runIn>>;
    try {
      const shell = await this.#pool.take();
      result = await runIn(this.#pool, shell, {
        code,
        manifests,
        options: { ...options, streamLogs: true },
        executionId: id,
        signal: active.abort.signal,
        dispatch: (call) => this.#forward(call, active),
        onEvent: (event) => {
          if (event.type === 'started') this.#send({ type: 'started', id });
          if (event.type === 'log' && options.streamLogs === true) this.#send({ type: 'log', id, line: event.line });
        },
      });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const failure = { code: 'internal_error' as const, message: `the guest could not be started: ${reason}` };
      result = { ok: false, error: failure, logs: [], durationMs: 0 };
    }
    this.#active = undefined;
    this.#send({ type: 'done', id, ...result });
  }

  /** Asks the far host. Call ids are ours, so that none is used twice however often a shell is replaced. */
  #forward(call: ToolCallMessage, active: Active): Promise<ToolOutcome> {
    return new Promise((resolve) => {
      this.#calls += 1;
      const callId = `call-${this.#calls}`;
      active.calls.set(callId, resolve);
      this.#send({ ...call, callId });
    });
  }

  #refuse(id: string, code: 'validation_error' | 'internal_error', message: string): void {
    this.#send({ type: 'done', id, ok: false, durationMs: 0, logs: [], error: { code, message } });
  }

  #send(message: RunnerMessage): void {
    try {
      const sent = this.#transport.send(message);
      if (sent instanceof Promise) sent.catch(() => {});
    } catch (error) {
      this.#transport.close(error instanceof Error ? error.message : String(error));
    }
  }

  async #release(): Promise<void> {
    await this.#pool.close();
    await this.#spawner?.dispose();
  }
}

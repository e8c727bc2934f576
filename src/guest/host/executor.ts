import { randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import {
  assertProviders,
  isToolProvider,
  type ProviderManifest,
  type ToolProvider,
  toManifest,
} from '../../capabilities/index.js';
import { confiningSpawner, type Spawner } from '../../sandbox/index.js';
import { DEFAULT_MAX_CODE_BYTES, MAX_QUEUED_EXECUTIONS, REMOTE_CANCEL_GRACE_MS } from '../limits.js';
import type { ExecuteErrorCode, ExecuteResult, ExecutorRuntimeOptions } from '../messages.js';
import { parseOptions } from '../messages.js';
import { TIMED_OUT } from '../runner/execution.js';
import { dispatchTo } from './dispatch.js';
import { driveSession, type SessionRequest } from './drive-session.js';
import type { ExecutionEvent } from './events.js';
import { openInlineShell } from './inline-shell.js';
import { openProcessShell } from './process-shell.js';
import { guestRoomPolicy } from './room.js';
import type { GuestIsolation, Shell } from './shell.js';
import { type PoolStats, ShellPool } from './shell-pool.js';
import { openThreadShell } from './thread-shell.js';

/** Limits of executions; what is absent takes its default. */
export type ExecuteLimits = Partial<
  Pick<ExecutorRuntimeOptions, 'timeoutMs' | 'memoryLimitBytes' | 'maxLogLines' | 'maxLogChars'>
>;

export interface ExecuteOptions extends ExecuteLimits {
  /** Ends the execution as a timeout, whether it waits or runs. */
  readonly signal?: AbortSignal;
  /** Hears what happens, as it happens. */
  readonly onEvent?: (event: ExecutionEvent) => void;
}

export interface ExecutorOptions {
  /**
   * Where guests run: `thread` (the default), `process`, `container`, or `inline`. Inline guests run on the caller's own thread: one that
   * is busy blocks the caller until its time limit, and nothing can end a single long operation of the engine.
   */
  readonly isolation?: GuestIsolation;
  /** How many guests run at once. The number of cores by default, at least two. */
  readonly size?: number;
  /** Defaults for the limits of each execution. */
  readonly limits?: ExecuteLimits;
  /** The largest program, in UTF-8 bytes. */
  readonly maxCodeBytes?: number;
  /** How many executions may wait for a free guest. */
  readonly maxQueued?: number;
  /** Starts the children of `process` and `container`; one of its own by default. */
  readonly spawner?: Spawner;
}

export interface ExecutorStats extends PoolStats {
  readonly executions: number;
  readonly failures: number;
}

/** Runs programs that nobody has reviewed. */
export interface Executor {
  /** Runs one program. Never rejects: every failure is a result. */
  execute(
    code: string,
    providers?: ToolProvider | readonly ToolProvider[],
    options?: ExecuteOptions,
  ): Promise<ExecuteResult>;
  /** Starts what executions need, so that the first does not wait for it. */
  prewarm(): Promise<void>;
  stats(): ExecutorStats;
  /** Lets running executions finish (`drain`, the default) or ends them (`abort`), and resolves when nothing is left. */
  dispose(options?: { readonly mode?: 'drain' | 'abort' }): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Makes an executor with a pool of guests. */
export function createExecutor(options: ExecutorOptions = {}): Executor {
  return new PooledExecutor(options);
}

/** A request that can be run. */
export interface CheckedRequest {
  readonly ok: true;
  readonly code: string;
  readonly providers: readonly ToolProvider[];
  readonly manifests: readonly ProviderManifest[];
  readonly options: ExecutorRuntimeOptions;
  readonly signal?: AbortSignal;
  readonly onEvent?: (event: ExecutionEvent) => void;
}

export interface RequestDefaults {
  readonly limits?: ExecuteLimits | undefined;
  readonly maxCodeBytes?: number | undefined;
}

/** Checks a request before anything is started. Callers without a type checker hand over anything at all. */
export function checkRequest(
  code: unknown,
  providers: unknown,
  options: unknown,
  defaults: RequestDefaults,
): CheckedRequest | { readonly ok: false; readonly reason: string } {
  try {
    return check(code, providers, options, defaults);
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? error.message : String(error) };
  }
}

function check(
  code: unknown,
  providers: unknown,
  given: unknown,
  { limits, maxCodeBytes = DEFAULT_MAX_CODE_BYTES }: RequestDefaults,
): CheckedRequest {
  if (typeof code !== 'string') throw new TypeError(`code must be a string, not ${typeof code}`);
  const bytes = code.length > maxCodeBytes ? code.length : Buffer.byteLength(code);
  if (bytes > maxCodeBytes) throw new RangeError(`code has ${bytes} bytes, more than the limit of ${maxCodeBytes}`);
  if (typeof given !== 'object') throw new TypeError(`options must be an object, not ${typeof given}`);
  const { signal, onEvent, ...own } = { ...given } as ExecuteOptions;
  if (signal !== undefined && !(signal instanceof AbortSignal)) throw new TypeError('signal must be an AbortSignal');
  if (onEvent !== undefined && typeof onEvent !== 'function') throw new TypeError('onEvent must be a function');
  const options = parseOptions({ ...limits, ...definedOf(own) });
  if (typeof options === 'string') throw new RangeError(options.replace('execute.options.', ''));
  const list: unknown[] = Array.isArray(providers) ? providers : [providers];
  const accepted = list.filter(isToolProvider);
  if (accepted.length < list.length) throw new TypeError('providers must be what defineTools returns');
  assertProviders(accepted);
  return {
    ok: true,
    code,
    providers: accepted,
    manifests: accepted.map(toManifest),
    options,
    ...(signal ? { signal } : {}),
    ...(onEvent ? { onEvent } : {}),
  };
}

/** What a request asks of a session. The logs of one that is lost are those that were streamed. */
function sessionOf(checked: CheckedRequest, logs: 'stream' | 'at-end') {
  const executionId = randomUUID();
  return {
    ...checked,
    options: { ...checked.options, ...(logs === 'stream' ? { streamLogs: true } : {}) },
    dispatch: dispatchTo(checked.providers, executionId),
    executionId,
  };
}

/** The same for a runner elsewhere: it streams its logs where somebody listens, if it knows how, and a network lies in between. */
export function farSession(
  checked: CheckedRequest,
  { startTimeoutMs, cancelGraceMs = REMOTE_CANCEL_GRACE_MS }: FarTimeouts,
): Omit<SessionRequest, 'transport'> {
  return {
    ...sessionOf(checked, checked.onEvent ? 'stream' : 'at-end'),
    cancelGraceMs,
    ...(startTimeoutMs === undefined ? {} : { startTimeoutMs }),
  };
}

interface FarTimeouts {
  readonly startTimeoutMs?: number | undefined;
  readonly cancelGraceMs?: number | undefined;
}

/** A failure that no runner was asked about. */
export function refusal(code: ExecuteErrorCode, message: string): ExecuteResult {
  return { ok: false, error: { code, message }, logs: [], durationMs: 0 };
}

/** Opens shells of one isolation. */
export function shellOpener(isolation: GuestIsolation, spawner: () => Spawner): () => Promise<Shell> {
  switch (isolation) {
    case 'inline':
      return openInlineShell;
    case 'thread':
      return openThreadShell;
    case 'process':
    case 'container':
      return () => openProcessShell(spawner(), isolation);
    default:
      throw new TypeError(`isolation must be inline, thread, process or container, not ${String(isolation)}`);
  }
}

class PooledExecutor implements Executor {
  readonly #options: ExecutorOptions;
  readonly #pool: ShellPool;
  readonly #running = new Set<Promise<unknown>>();
  readonly #active = new Set<{ cancel(): void }>();
  #spawner: Spawner | undefined;
  #disposed = false;
  #aborting = false;
  #executions = 0;
  #failures = 0;

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const size = options.size ?? Math.max(2, availableParallelism());
    if (!Number.isSafeInteger(size) || size < 1)
      throw new RangeError(`size must be a whole number of at least 1, not ${size}`);
    const open = shellOpener(options.isolation ?? 'thread', () => this.#useSpawner());
    this.#pool = new ShellPool(open, size, options.maxQueued ?? MAX_QUEUED_EXECUTIONS);
  }

  execute(
    code: string,
    providers: ToolProvider | readonly ToolProvider[] = [],
    options: ExecuteOptions = {},
  ): Promise<ExecuteResult> {
    this.#executions += 1;
    const checked = checkRequest(code, providers, options, this.#options);
    if (!checked.ok) return Promise.resolve(this.#counted(refusal('validation_error', checked.reason)));
    const run = this.#run(sessionOf(checked, 'stream'));
    this.#running.add(run);
    return run.finally(() => this.#running.delete(run));
  }

  prewarm(): Promise<void> {
    return this.#pool.prewarm();
  }

  stats(): ExecutorStats {
    return { ...this.#pool.stats, executions: this.#executions, failures: this.#failures };
  }

  async dispose({ mode = 'drain' }: { readonly mode?: 'drain' | 'abort' } = {}): Promise<void> {
    this.#disposed = true;
    // An abort that comes while another call drains ends what that one waits for.
    if (mode === 'abort' && !this.#aborting) {
      this.#aborting = true;
      this.#pool.refuseWaiting();
      for (const handle of this.#active) handle.cancel();
    }
    await Promise.all(this.#running);
    await this.#pool.close();
    await this.#spawner?.dispose();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #run(request: Omit<SessionRequest, 'transport'>): Promise<ExecuteResult> {
    if (this.#disposed) return this.#counted(refusal('internal_error', 'the executor is disposed'));
    let shell: Shell;
    try {
      shell = await this.#pool.take(request.signal);
    } catch (error) {
      if (request.signal?.aborted) return this.#counted(refusal('timeout', TIMED_OUT));
      const reason = error instanceof Error ? error.message : String(error);
      return this.#counted(refusal('internal_error', `no guest could run this: ${reason}`));
    }
    let active: { cancel(): void } | undefined;
    const onHandle = (handle: { cancel(): void }): void => {
      active = handle;
      this.#active.add(handle);
      // Its shell was given to it before the abort, and its turn comes only now.
      if (this.#aborting) queueMicrotask(() => handle.cancel());
    };
    const result = await runIn(this.#pool, shell, { ...request, onHandle });
    if (active) this.#active.delete(active);
    return this.#counted(result);
  }

  #counted(result: ExecuteResult): ExecuteResult {
    if (!result.ok) this.#failures += 1;
    return result;
  }

  #useSpawner(): Spawner {
    if (this.#options.spawner) return this.#options.spawner;
    this.#spawner ??= confiningSpawner(guestRoomPolicy());
    return this.#spawner;
  }
}

/** Runs one execution in a shell that was taken from the pool, and gives it back or kills it. */
export async function runIn(
  pool: ShellPool,
  shell: Shell,
  request: Omit<SessionRequest, 'transport'>,
): Promise<ExecuteResult> {
  shell.occupy();
  const { result, reusable } = await driveSession({
    ...request,
    transport: shell.transport,
    interrupt: () => shell.interrupt(),
  });
  shell.vacate();
  if (reusable) pool.giveBack(shell);
  else pool.discard(shell);
  return result;
}

/** What is given as undefined counts as not given. */
function definedOf(limits: ExecuteLimits): ExecuteLimits {
  return Object.fromEntries(Object.entries(limits).filter(([, value]) => value !== undefined));
}

import { SallyportError } from '../../errors/index.js';
import type { Spawner } from '../../sandbox/index.js';
import type { CloseReason, WireValue } from '../../wire/index.js';
import { EXIT_GRACE_MS, WATCH_INTERVAL_MS, type WasmLimits } from '../limits.js';
import type { RunningGuest, WasmRuntime } from '../runtime/runtime.js';
import { DuplexSession } from '../session/session.js';
import type { CallLimits, SessionOptions } from '../session/types.js';
import { endingError, type Fault, faultOf, faultOfClose } from './ending.js';
import type { WasmEvent } from './events.js';
import { GuestPipe } from './guest-pipe.js';
import { StderrTail } from './stderr-tail.js';

export interface InstanceOptions {
  readonly runtime: WasmRuntime;
  readonly spawner: Spawner;
  readonly limits: WasmLimits;
  readonly grant: SessionOptions['grant'];
  readonly onEvent: (event: WasmEvent) => void;
  readonly number: number;
}

/**
 * One guest process and its session.
 *
 *     starting ──▶ running ──violation, timeout, exit──▶ ending (killed, exit awaited) ──▶ ended
 *                     └──────dispose(): input ends, a grace──────────────────────────────▲
 */
export class GuestInstance {
  /** Resolves when it is gone and everybody who waited for it has been told, with the error unless it was disposed. */
  readonly ended: Promise<SallyportError | undefined>;
  readonly #options: InstanceOptions;
  readonly #guest: RunningGuest;
  readonly #session: DuplexSession;
  readonly #transport: GuestPipe;
  readonly #stderr: StderrTail;
  #startTimer: NodeJS.Timeout | undefined;
  #timer: NodeJS.Timeout | undefined;
  #calls = 0;
  #ending: Promise<SallyportError | undefined> | undefined;
  #resolveEnded!: (error: SallyportError | undefined) => void;
  #killed = false;

  private constructor(options: InstanceOptions, guest: RunningGuest) {
    this.#options = options;
    this.#guest = guest;
    const { limits, onEvent, runtime } = options;
    const { process: child } = guest;
    const [stdout, stderr] = child.outputs;
    if (stdout === undefined || child.input === undefined) throw new TypeError('a guest needs pipes');
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#stderr = new StderrTail(stderr, limits.stderrBytes);
    this.#transport = new GuestPipe(child.input, stdout, limits);
    this.#session = new DuplexSession({
      limits,
      grant: options.grant,
      onForbidden: 'violation',
      port: {
        send: (message) => this.#transport.send(message),
        now: () => performance.now(),
        wake: (at) => this.#wake(at),
        broken: (error) => void this.#end(faultOf(error)),
      },
    });
    this.#transport.onMessage(({ message, bytes }) => this.#session.receive(message, bytes));
    this.#transport.onClose((reason) => void this.#closed(reason));
    void child.exited.then(() => this.#exited());
    this.#startTimer = setTimeout(() => {
      const message = `the guest was not ready after ${limits.startTimeoutMs} ms`;
      void this.#end({ code: 'WASM_START_TIMEOUT', message, facts: { limitMs: limits.startTimeoutMs } });
    }, limits.startTimeoutMs).unref();
    void guest.ready.then(() => clearTimeout(this.#startTimer));
    onEvent({ type: 'started', guest: options.number, pid: child.pid, runtime: runtime.report });
  }

  /** Starts a guest. Rejects when the process cannot be spawned. */
  static async start(options: InstanceOptions): Promise<GuestInstance> {
    return new GuestInstance(options, await options.runtime.start(options.spawner));
  }

  get number(): number {
    return this.#options.number;
  }

  get pid(): number {
    return this.#guest.process.pid;
  }

  /** Whether it takes calls. */
  get alive(): boolean {
    return this.#ending === undefined;
  }

  /** Whether it has ever sent a frame: until then a failure counts as a failed start. */
  get hasSpoken(): boolean {
    return this.#transport.frames > 0;
  }

  /** Resolves with its first frame, if there is ever one. */
  get spoken(): Promise<void> {
    return this.#transport.spoken;
  }

  get calls(): number {
    return this.#calls;
  }

  /** Bytes in both directions. */
  get bytes(): number {
    return this.#transport.transferred;
  }

  /** How many calls, callbacks and streams are under way. */
  get load(): number {
    return this.#session.load;
  }

  call(functionName: string, params: unknown, limits: CallLimits): Promise<WireValue | undefined> {
    this.#calls += 1;
    return this.#session.call(functionName, params, limits);
  }

  notify(functionName: string, params: unknown): void {
    this.#calls += 1;
    this.#session.notify(functionName, params);
  }

  /** Resolves when nothing is under way any more, or when it has ended. */
  async idle(): Promise<void> {
    while (this.alive && this.load > 0) await settledWithin(this.ended, WATCH_INTERVAL_MS);
  }

  /** Ends its input, waits for a grace, then kills it. */
  async dispose(): Promise<void> {
    if (this.#ending !== undefined) {
      await this.#ending;
      return;
    }
    const { process: child } = this.#guest;
    this.#ending = this.#finish(async () => {
      this.#transport.close('disposed');
      await settledWithin(child.exited, this.#options.limits.disposeGraceMs);
      return undefined;
    }, 'disposed');
    await this.#ending;
  }

  #wake(at: number): void {
    clearTimeout(this.#timer);
    const delay = Math.min(Math.max(0, Math.ceil(at - performance.now())), 0x7fffffff);
    this.#timer = setTimeout(() => {
      const late = this.#session.check();
      if (late !== undefined) void this.#end(faultOf(late));
    }, delay);
    this.#timer.unref();
  }

  async #closed(reason: CloseReason): Promise<void> {
    if (this.#ending !== undefined) return;
    const fault = faultOfClose(reason);
    if (fault !== undefined) {
      await this.#end(fault);
      return;
    }
    this.#ending = this.#finish(async () => {
      // A guest that went away tells more by its exit than by its silence; one that only closed its output is made to.
      if (await settledWithin(this.#guest.process.exited, EXIT_GRACE_MS)) return undefined;
      return { code: 'WASM_EXITED', message: 'the guest closed its output and kept running', facts: {} };
    }, 'failed');
    await this.#ending;
  }

  /** The process is gone. What it said before is still on its way through the transport, which then closes. */
  async #exited(): Promise<void> {
    await this.#guest.process.drained;
    await settledWithin(this.ended, EXIT_GRACE_MS);
    // All that it wrote has been read; if the transport has not closed since, somebody else holds its output open.
    if (this.#ending === undefined) this.#ending = this.#finish(async () => undefined, 'failed');
  }

  #end(fault: Fault): Promise<unknown> {
    this.#ending ??= this.#finish(async () => fault, 'failed');
    return this.#ending;
  }

  async #finish(
    findFault: () => Promise<Fault | undefined>,
    manner: 'disposed' | 'failed',
  ): Promise<SallyportError | undefined> {
    // Whoever called has noted first that this is going on: what follows closes the transport, which reports back.
    await Promise.resolve();
    const { process: child } = this.#guest;
    clearTimeout(this.#startTimer);
    clearTimeout(this.#timer);
    let exitedAlone = false;
    void child.exited.then(() => {
      exitedAlone = !this.#killed;
    });
    const fault = await findFault();
    // Its last frames may have arrived while the exit was awaited; now nothing that it says counts any more.
    this.#killed = !exitedAlone;
    await child[Symbol.asyncDispose]();
    const status = await child.exited;
    const killed = this.#killed && status.signal !== null;
    const error = endingError(
      manner === 'disposed' ? { code: 'WASM_DISPOSED', message: 'the guest was disposed', facts: {} } : fault,
      { status, stderr: this.#stderr.text, failure: this.#guest.failure(), killed, frames: this.#transport.frames },
    );
    this.#transport.terminate();
    const reported = manner === 'disposed' ? undefined : error;
    this.#options.onEvent({
      type: 'ended',
      guest: this.number,
      pid: child.pid,
      exitCode: status.exitCode,
      signal: status.signal,
      stderr: this.#stderr.text,
      error: reported,
    });
    this.#session.end((waiting) => errorFor(error, waiting));
    this.#resolveEnded(reported);
    return reported;
  }
}

/** Everybody who waited gets an error of their own, which says whose fault it was. */
function errorFor(error: SallyportError, waiting: string): SallyportError {
  return new SallyportError(error.code, error.message, { ...error.facts, waiting }, { cause: error.cause });
}

/** Waits, but not for ever. Says whether it happened. */
async function settledWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([promise.then(() => true), patience]);
  } finally {
    clearTimeout(timer);
  }
}

import { Socket } from 'node:net';
import { constants } from 'node:os';
import { SallyportError } from '../errors/index.js';
import type { InputStream } from './input.js';
import type { ExtraPipe, Launched } from './launch.js';
import type { Ledger } from './ledger.js';
import type { Invocation } from './level.js';
import { DEFAULT_KILL_GRACE_MS, TIMER_MAX_MS } from './limits.js';
import type { OutputStream } from './output.js';
import type { ProcessTree } from './process-tree.js';
import type { SpawnLimits, TerminalSize } from './request.js';
import type { ExitStatus, SpawnedProcess } from './spawned-process.js';

export interface ChildParts {
  readonly launched: Launched;
  readonly tree: ProcessTree;
  readonly ledger: Ledger;
  readonly level: string;
  readonly limits: SpawnLimits;
  readonly startedAt: number;
  readonly invocation: Pick<Invocation, 'inspect' | 'leader'>;
  /** Gives back what the level set up. Never rejects. */
  readonly release: () => Promise<void>;
}

interface Ending {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Tells a command that ended of a signal of ours from one that exited: a supervisor reports both as an exit, like a shell. */
function unfold(ending: Ending, leader: Invocation['leader'], sent: ReadonlySet<NodeJS.Signals>): Ending {
  if (leader === undefined || ending.exitCode === null) return ending;
  for (const signal of sent) {
    if (ending.exitCode === 128 + constants.signals[signal]) return { exitCode: null, signal };
  }
  return ending;
}

/** The handle of one child. */
export class Child implements SpawnedProcess {
  readonly pid: number;
  readonly level: string;
  readonly outputs: readonly OutputStream[];
  readonly input: InputStream | undefined;
  readonly extraPipes: readonly ExtraPipe[];
  readonly exited: Promise<ExitStatus>;
  readonly drained: Promise<void>;
  readonly closed: Promise<void>;
  readonly #parts: ChildParts;
  readonly #sent = new Set<NodeJS.Signals>();
  #timedOut = false;
  #written = 0;
  #flooded = false;
  #released: Promise<void> | undefined;

  constructor(parts: ChildParts) {
    this.#parts = parts;
    const { launched, limits } = parts;
    this.pid = launched.pid;
    this.level = parts.level;
    this.outputs = launched.outputs;
    this.input = launched.input;
    this.extraPipes = launched.extraPipes;
    this.exited = new Promise((resolve) => {
      launched.child.once('exit', (exitCode, signal) => {
        const wallMs = performance.now() - parts.startedAt;
        const { limit, ...measured } = parts.invocation.inspect?.({ exitCode }) ?? {};
        const usage = { wallMs, ...measured };
        clearTimeout(timer);
        parts.ledger.leaderEnded(parts.tree);
        launched.onExit();
        const status = unfold({ exitCode, signal }, parts.invocation.leader, this.#sent);
        const hit = this.#flooded ? 'output' : limit;
        resolve({ ...status, timedOut: this.#timedOut, ...(hit === undefined ? {} : { limit: hit }), usage });
      });
    });
    const { timeoutMs, killGraceMs = DEFAULT_KILL_GRACE_MS } = limits;
    const timer =
      timeoutMs === undefined
        ? undefined
        : setTimeout(
            () => {
              this.#timedOut = true;
              void this.terminate({ graceMs: killGraceMs });
            },
            Math.min(timeoutMs, TIMER_MAX_MS),
          );
    const { outputBytes } = limits;
    if (outputBytes !== undefined) {
      for (const output of launched.outputs) output.onBytes((bytes) => this.#charge(bytes, outputBytes));
    }
    this.drained = this.exited.then(async () => {
      await Promise.all(launched.outputs.map((output) => output.drained()));
    });
    this.closed = Promise.all([this.exited, ...launched.outputs.map((output) => output.ended)]).then(() =>
      this.#release(),
    );
  }

  get vacated(): boolean {
    return !this.#parts.ledger.holds(this.#parts.tree);
  }

  get processGroup(): number {
    return this.pid;
  }

  resize(size: TerminalSize): void {
    const { resize } = this.#parts.launched;
    if (resize === undefined) throw new SallyportError('SPAWN_INVALID', 'a child with pipes has no terminal to resize');
    resize(size);
  }

  eventLoop(mode: 'hold' | 'release'): void {
    const { child } = this.#parts.launched;
    const method = mode === 'hold' ? 'ref' : 'unref';
    child[method]();
    for (const stream of child.stdio) if (stream instanceof Socket) stream[method]();
  }

  kill(signal: NodeJS.Signals): boolean {
    const reached = this.#parts.ledger.signal(this.#parts.tree, signal);
    if (reached) this.#sent.add(signal);
    return reached;
  }

  async terminate(options: { readonly graceMs?: number } = {}): Promise<void> {
    const { ledger, tree } = this.#parts;
    const { graceMs = 0 } = options;
    // Somebody waits for its end, even if nobody waited for what it does.
    this.eventLoop('hold');
    if (graceMs > 0 && this.kill('SIGTERM')) {
      // Who is stopped cannot comply.
      ledger.signal(tree, 'SIGCONT');
      let timer: NodeJS.Timeout | undefined;
      const patience = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, Math.min(graceMs, TIMER_MAX_MS));
      });
      await Promise.race([this.exited, patience]);
      clearTimeout(timer);
    }
    await ledger.kill(tree);
    await this.exited;
    // The exit may have come while the last look still saw the leader; this one retires the tree.
    await ledger.kill(tree);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.terminate();
    this.#parts.launched.destroy();
    await this.#release();
  }

  #charge(bytes: number, most: number): void {
    this.#written += bytes;
    if (this.#flooded || this.#written <= most) return;
    this.#flooded = true;
    void this.terminate();
  }

  #release(): Promise<void> {
    this.#released ??= this.#parts.release();
    return this.#released;
  }
}

import { fileURLToPath } from 'node:url';
import {
  type PolicyRequest,
  type ProxyDecision,
  type SpawnedProcess,
  type Spawner,
  StartMark,
} from '../../sandbox/index.js';
import { childEnvironment } from './child-environment.js';
import type { Lodging, Lodgings } from './lodging.js';
import { endStrays } from './strays.js';

const RUNNER = fileURLToPath(new URL('../child/runner.bundle.cjs', import.meta.url));
/** How long a waiting child is kept before a fresh one takes its place. */
const MAX_IDLE_MS = 10 * 60_000;
/** Looks for daemons after a kill; each look may find what the one before made fork. */
const STRAY_LOOKS = 5;
const STRAY_PAUSE_MS = 5;

/** A process that has started, is confined, and does not know yet what it will run. It runs one thing. */
export interface IdleChild extends AsyncDisposable {
  readonly process: SpawnedProcess;
  /** Hears of its connections, where the level decides about them. */
  onNetworkDecision: ((decision: ProxyDecision) => void) | undefined;
}

export interface ChildPoolOptions {
  readonly spawner: Spawner;
  readonly level: string;
  /** What of the level's policy children need, where that is less than it grants. */
  readonly policy: PolicyRequest | undefined;
  readonly lodgings: Lodgings;
  readonly warm: number;
  readonly heapMegabytes: number;
}

class PooledChild implements IdleChild {
  readonly process: SpawnedProcess;
  readonly startedAt = performance.now();
  readonly #lodging: Lodging;
  readonly #started: StartMark | undefined;
  onNetworkDecision: ((decision: ProxyDecision) => void) | undefined;
  #ended: Promise<void> | undefined;
  alive = true;

  constructor(child: SpawnedProcess, lodging: Lodging) {
    this.process = child;
    this.#started = lodging.mark === undefined ? undefined : new StartMark(child.pid);
    this.#lodging = lodging;
    void child.exited.then(() => {
      this.alive = false;
    });
  }

  /** Ends it with everything it started, and gives its lodging back. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    // Killed before it is looked for: the search that follows then finds nobody at once, and need not look again. Every
    // search reads the table of all processes, so what has ended already is spared one.
    if (this.alive) this.process.kill('SIGKILL');
    await this.process.exited;
    await this.process.terminate();
    await this.#endStrays();
    await this.process[Symbol.asyncDispose]();
    await this.#lodging[Symbol.asyncDispose]();
  }

  /** A room ends with all that is in it; elsewhere daemons have to be looked for. */
  async #endStrays(): Promise<void> {
    const { mark } = this.#lodging;
    if (mark === undefined || this.#started === undefined) return;
    for (let look = 0; look < STRAY_LOOKS && endStrays(this.#started, mark) > 0; look += 1)
      await new Promise((resolve) => setTimeout(resolve, STRAY_PAUSE_MS));
  }
}

/** Keeps a few children waiting, so that a call does not wait for one to start. */
export class ChildPool {
  readonly #options: ChildPoolOptions;
  readonly #idle: PooledChild[] = [];
  readonly #starting = new Set<Promise<void>>();
  #disposed = false;
  started = 0;

  constructor(options: ChildPoolOptions) {
    this.#options = options;
  }

  get idle(): number {
    return this.#idle.length;
  }

  /** Starts as many as should wait. */
  fill(): void {
    while (!this.#disposed && this.#idle.length + this.#starting.size < this.#options.warm) {
      const starting = this.#add().catch(() => {
        // A call that needs one tries again, and reports why it cannot.
      });
      this.#starting.add(starting);
      void starting.then(() => this.#starting.delete(starting));
    }
  }

  /** Starts one, to learn whether it can be done at this level. */
  async prove(): Promise<void> {
    await this.#add();
  }

  /** Hands out a child for one call. Whoever takes it disposes of it. */
  async take(): Promise<IdleChild> {
    for (let child = this.#idle.shift(); child !== undefined; child = this.#idle.shift()) {
      if (child.alive && performance.now() - child.startedAt < MAX_IDLE_MS) return child;
      void child[Symbol.asyncDispose]();
    }
    return await this.#start();
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await Promise.all(this.#starting);
    await Promise.all(this.#idle.splice(0).map((child) => child[Symbol.asyncDispose]()));
  }

  async #add(): Promise<void> {
    const child = await this.#start();
    if (this.#disposed) await child[Symbol.asyncDispose]();
    else this.#idle.push(child);
  }

  async #start(): Promise<PooledChild> {
    const { spawner, level, policy, lodgings, heapMegabytes } = this.#options;
    const lodging = await lodgings();
    let pooled: PooledChild | undefined;
    try {
      const child = await spawner.spawn({
        argv: [process.execPath, `--max-old-space-size=${heapMegabytes}`, RUNNER],
        env: childEnvironment(lodging),
        cwd: lodging.temporary,
        stdio: { kind: 'pipes', stdin: 'null', extraPipes: 2 },
        level,
        // The server answers first.
        priority: 'low',
        onNetworkDecision: (decision) => pooled?.onNetworkDecision?.(decision),
        ...(policy === undefined ? {} : { policy }),
      });
      this.started += 1;
      pooled = new PooledChild(child, lodging);
      return pooled;
    } catch (error) {
      await lodging[Symbol.asyncDispose]();
      throw error;
    }
  }
}

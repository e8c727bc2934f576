import { closeSync } from 'node:fs';
import { SallyportError } from '../errors/index.js';
import { Child } from './child.js';
import { type Guardian, sharedGuardian } from './guardian.js';
import { Ledger } from './ledger.js';
import type { Availability, IsolationLevel } from './level.js';
import { DEFAULT_INPUT_QUEUE_BYTES } from './limits.js';
import { launchWithPipes } from './pipes.js';
import { processLevel } from './process-level.js';
import type { ProcessTree } from './process-tree.js';
import { checkRequest, type SpawnRequest } from './request.js';
import { spawnTurn } from './spawn-turn.js';
import type { SpawnedProcess } from './spawned-process.js';
import { launchOnTerminal } from './terminal.js';

export interface SpawnerOptions {
  /** The isolation levels on offer, by name. `process` alone, unless told otherwise. */
  readonly levels?: ReadonlyMap<string, IsolationLevel>;
  /** Who ends the children if this process is killed. One per process, unless told otherwise. */
  readonly guardian?: Guardian;
  /** Bytes of input that may wait per child. */
  readonly inputQueueBytes?: number;
}

/** Starts children and ends them. */
export interface Spawner extends AsyncDisposable {
  /** Starts a child. Rejects with SPAWN_INVALID, SPAWN_FAILED, SPAWN_LEVEL_UNAVAILABLE or SPAWN_TERMINAL_UNAVAILABLE. */
  spawn(request: SpawnRequest): Promise<SpawnedProcess>;
  /** Ends every child and everything they started. Nothing can be spawned afterwards. */
  dispose(): Promise<void>;
}

class LevelSpawner implements Spawner {
  readonly #levels: ReadonlyMap<string, IsolationLevel>;
  readonly #availability = new Map<string, Promise<Availability>>();
  readonly #guardian: Guardian;
  readonly #ledger: Ledger;
  readonly #queueBytes: number;
  readonly #children = new Set<Child>();
  #disposed = false;

  constructor(options: SpawnerOptions) {
    this.#levels = options.levels ?? new Map([[processLevel.name, processLevel]]);
    this.#guardian = options.guardian ?? sharedGuardian();
    this.#ledger = new Ledger(this.#guardian);
    this.#queueBytes = options.inputQueueBytes ?? DEFAULT_INPUT_QUEUE_BYTES;
  }

  async spawn(request: SpawnRequest): Promise<SpawnedProcess> {
    const command = checkRequest(request);
    const level = await this.#level(request.level);
    const invocation = await level.wrap(command);
    const release = async (): Promise<void> => {
      try {
        await invocation.dispose?.();
      } catch {
        // What a level leaves behind is its own to report; the child's end is not changed by it.
      }
    };
    try {
      await spawnTurn();
      if (this.#disposed) throw new SallyportError('SPAWN_FAILED', 'the spawner is disposed', { errno: 'ESHUTDOWN' });
      this.#guardian.ensure();
      if (invocation.leader === 'supervisor') this.#guardian.roomsAreMade();
      const startedAt = performance.now();
      let tree: ProcessTree | undefined;
      const registered = (pid: number): void => {
        tree = this.#ledger.started(pid, invocation.leader, request.priority);
      };
      const { stdio } = command;
      const launched =
        stdio.kind === 'terminal'
          ? await launchOnTerminal(invocation, stdio, this.#queueBytes, registered)
          : await launchWithPipes(invocation, stdio, this.#queueBytes, registered);
      tree ??= this.#ledger.started(launched.pid, invocation.leader, request.priority);
      const { limits } = command;
      const parts = { launched, tree, ledger: this.#ledger, level: level.name, limits, startedAt, invocation, release };
      const child = new Child(parts);
      this.#children.add(child);
      void child.closed.then(() => this.#children.delete(child));
      return child;
    } catch (error) {
      await release();
      throw error;
    } finally {
      for (const handle of invocation.handles ?? []) closeSync(handle);
    }
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await Promise.all([...this.#children].map((child) => child[Symbol.asyncDispose]()));
    await this.#ledger.killAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.dispose();
  }

  async #level(name: string): Promise<IsolationLevel> {
    const level = this.#levels.get(name);
    if (level === undefined) {
      const known = [...this.#levels.keys()].join(', ');
      throw unavailable(name, `it is not one of: ${known}`);
    }
    let asked = this.#availability.get(name);
    if (asked === undefined) {
      asked = level.probe();
      this.#availability.set(name, asked);
    }
    const answer = await asked;
    if (!answer.available) throw unavailable(name, answer.reason);
    return level;
  }
}

function unavailable(level: string, reason: string): SallyportError {
  const message = `the isolation level ${JSON.stringify(level)} is not available: ${reason}`;
  return new SallyportError('SPAWN_LEVEL_UNAVAILABLE', message, { level });
}

/** Makes a spawner. */
export function createSpawner(options: SpawnerOptions = {}): Spawner {
  return new LevelSpawner(options);
}

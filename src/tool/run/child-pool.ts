import { fileURLToPath } from 'node:url';
import { DEFAULT_SEARCH_PATH, type SpawnedProcess, type Spawner, StartMark } from '../../sandbox/index.js';
import { makePrivateFolder, type PrivateFolder } from './private-folder.js';
import { endStrays } from './strays.js';

const RUNNER = fileURLToPath(new URL('../child/runner.js', import.meta.url));
/** How long a waiting child is kept before a fresh one takes its place. */
const MAX_IDLE_MS = 10 * 60_000;
/** Looks for daemons after a kill; each look may find what the one before made fork. */
const STRAY_LOOKS = 5;

/** A process that has started, is confined, and does not know yet what it will run. It runs one thing. */
export interface IdleChild extends AsyncDisposable {
  readonly process: SpawnedProcess;
  readonly folder: string;
}

export interface ChildPoolOptions {
  readonly spawner: Spawner;
  readonly level: string;
  readonly foldersDir: string;
  readonly warm: number;
  readonly heapMegabytes: number;
}

class PooledChild implements IdleChild {
  readonly process: SpawnedProcess;
  readonly startedAt = performance.now();
  readonly #folder: PrivateFolder;
  readonly #mark: StartMark;
  #ended: Promise<void> | undefined;
  alive = true;

  constructor(child: SpawnedProcess, folder: PrivateFolder) {
    this.process = child;
    this.#mark = new StartMark(child.pid);
    this.#folder = folder;
    void child.exited.then(() => {
      this.alive = false;
    });
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** Ends it with everything it started, and removes its folder. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #end(): Promise<void> {
    // Killed before it is looked for: the search that follows then finds nobody at once, and need not look again.
    this.process.kill('SIGKILL');
    await this.process.exited;
    await this.process.terminate();
    for (let look = 0; look < STRAY_LOOKS && endStrays(this.#mark, this.folder) > 0; look += 1)
      await new Promise((resolve) => setTimeout(resolve, 5));
    await this.process[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

/** Keeps a few children waiting, so that a call does not wait for one to start. */
export class ChildPool {
  readonly #options: ChildPoolOptions;
  readonly #idle: PooledChild[] = [];
  #starting = 0;
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
    while (!this.#disposed && this.#idle.length + this.#starting < this.#options.warm) {
      this.#starting += 1;
      void this.#start()
        .then(
          (child) => {
            if (this.#disposed) return child[Symbol.asyncDispose]();
            this.#idle.push(child);
            return undefined;
          },
          // A call that needs one tries again, and reports why it cannot.
          () => undefined,
        )
        .finally(() => {
          this.#starting -= 1;
        });
    }
  }

  /** Starts one, to learn whether it can be done at this level. */
  async prove(): Promise<void> {
    this.#idle.push(await this.#start());
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
    await Promise.all(this.#idle.splice(0).map((child) => child[Symbol.asyncDispose]()));
  }

  async #start(): Promise<PooledChild> {
    const { spawner, level, foldersDir, heapMegabytes } = this.#options;
    const folder = await makePrivateFolder(foldersDir);
    try {
      const child = await spawner.spawn({
        argv: [process.execPath, `--max-old-space-size=${heapMegabytes}`, RUNNER],
        env: { PATH: DEFAULT_SEARCH_PATH, HOME: folder.path, TMPDIR: folder.path, LANG: 'C.UTF-8' },
        cwd: folder.path,
        stdio: { kind: 'pipes', stdin: 'null', extraPipes: 2 },
        level,
      });
      this.started += 1;
      return new PooledChild(child, folder);
    } catch (error) {
      await folder[Symbol.asyncDispose]();
      throw error;
    }
  }
}

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ToolProvider } from '../../capabilities/index.js';
import type { Spawner } from '../../sandbox/index.js';
import { loadWasm, openWasm, type WasmModule } from '../../wasm/index.js';
import type { AuditedExecution } from '../audit/execution.js';
import type { ServerLimits } from '../limits.js';
import { Turns } from './turns.js';
import { type OneGuest, watchedGrant } from './watched-grant.js';

/** What a module may be called in a path. */
const MODULE_FILE = /^([A-Za-z0-9][A-Za-z0-9._-]{0,99})\.wasm$/;

export interface WasmModulesOptions {
  readonly folder: string | undefined;
  readonly level: string;
  readonly spawner: Spawner;
  readonly limits: ServerLimits;
  /** What modules may call, by the names their author gave. */
  readonly grant: ToolProvider | undefined;
}

interface Spare {
  readonly guest: OneGuest;
  readonly timer: NodeJS.Timeout;
}

/** The modules of a folder, by name. Each is read and checked when it is first asked for. */
export class WasmModules {
  /** Guests of all modules share these places. */
  readonly turns: Turns;
  readonly #options: WasmModulesOptions;
  readonly #files = new Map<string, string>();
  readonly #loaded = new Map<string, Promise<WasmModule>>();
  readonly #spares = new Map<string, Spare>();
  #disposed = false;

  private constructor(options: WasmModulesOptions) {
    this.#options = options;
    this.turns = new Turns(options.limits);
  }

  /** Lists a folder. Rejects when it cannot be read. */
  static async open(options: WasmModulesOptions): Promise<WasmModules> {
    const modules = new WasmModules(options);
    if (options.folder === undefined) return modules;
    for (const file of await readdir(options.folder)) {
      const name = MODULE_FILE.exec(file)?.[1];
      if (name !== undefined) modules.#files.set(name, join(options.folder, file));
    }
    return modules;
  }

  get names(): readonly string[] {
    return [...this.#files.keys()].sort();
  }

  has(name: string): boolean {
    return this.#files.has(name);
  }

  /** Guests that wait for a call. */
  get spares(): number {
    return this.#spares.size;
  }

  /** A checked module. Rejects with the reason why it cannot be run; the next one who asks tries again. */
  load(name: string): Promise<WasmModule> {
    const file = this.#files.get(name);
    if (file === undefined) return Promise.reject(new Error(`there is no module ${JSON.stringify(name)}`));
    let loading = this.#loaded.get(name);
    if (loading === undefined) {
      loading = loadWasm(file, { level: this.#options.level });
      this.#loaded.set(name, loading);
      loading.catch(() => this.#loaded.delete(name));
    }
    return loading;
  }

  /** A guest for one call, which nobody else has spoken to or will. The next one is started meanwhile. */
  async take(name: string, execution: AuditedExecution): Promise<OneGuest> {
    const spare = this.#spares.get(name);
    this.#spares.delete(name);
    clearTimeout(spare?.timer);
    const guest = spare?.guest ?? (await this.#open(name));
    guest.watch(execution);
    return guest;
  }

  /** Starts a guest ahead of the next call. It goes when nobody calls for a while. */
  prepare(name: string): void {
    if (this.#disposed || this.#spares.has(name)) return;
    void this.#open(name).then(
      (guest) => {
        if (this.#disposed || this.#spares.has(name)) return guest.client.dispose();
        const timer = setTimeout(() => {
          this.#spares.delete(name);
          void guest.client.dispose();
        }, this.#options.limits.wasmSpareMs).unref();
        this.#spares.set(name, { guest, timer });
        return undefined;
      },
      () => {},
    );
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    const spares = [...this.#spares.values()];
    this.#spares.clear();
    for (const { timer } of spares) clearTimeout(timer);
    await Promise.all(spares.map(({ guest }) => guest.client.dispose()));
  }

  async #open(name: string): Promise<OneGuest> {
    const { level, spawner, grant } = this.#options;
    const module = await this.load(name);
    const watched = watchedGrant(grant);
    const client = await openWasm(module.bytes, {
      level,
      spawner,
      warm: 1,
      ...(watched.provider === undefined ? {} : { grant: watched.provider }),
    });
    return { client, watch: watched.watch };
  }
}

import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { OWN_NAME, sharedGuardian } from '../guardian.js';
import type { Aftermath, LimitHit } from '../level.js';
import { errnoOf } from '../resolve-program.js';
import { CPU_ACCURACY, GROUP_REMOVAL_PAUSE_MS, GROUP_REMOVAL_TRIES, OWN_PROCESSES } from './limits.js';
import type { ResourceLimits } from './policy.js';

type Controller = 'memory' | 'pids' | 'cpuacct';

/** The files of the kernel, which have other names in each version. */
interface Dialect {
  /** The file that whoever joins writes to. Version 1 moves a single thread without a lock on the whole machine. */
  readonly entrance: string;
  readonly memoryLimit: readonly string[];
  /** What else is set where there is a limit. Not every kernel has it. */
  readonly memoryExtras: readonly (readonly [file: string, value: string])[];
  readonly memoryPeak: string;
  readonly oomKills: string;
  readonly usage: { readonly file: string; readonly field: RegExp; readonly perMs: number };
}

const VERSION_1: Dialect = {
  entrance: 'tasks',
  // The second one also counts what is swapped out; it can only be set after, and not be below, the first.
  memoryLimit: ['memory.limit_in_bytes', 'memory.memsw.limit_in_bytes'],
  memoryExtras: [],
  memoryPeak: 'memory.max_usage_in_bytes',
  oomKills: 'memory.oom_control',
  usage: { file: 'cpuacct.usage', field: /^(\d+)/, perMs: 1e6 },
};

const VERSION_2: Dialect = {
  entrance: 'cgroup.procs',
  memoryLimit: ['memory.max'],
  memoryExtras: [
    ['memory.swap.max', '0'],
    ['memory.oom.group', '1'],
  ],
  memoryPeak: 'memory.peak',
  oomKills: 'memory.events',
  usage: { file: 'cpu.stat', field: /^usage_usec (\d+)/m, perMs: 1e3 },
};

/** Where groups can be made, and which controllers really limit there. */
export interface GroupHome {
  readonly version: 1 | 2;
  /** The folder in which groups are made, for each controller that can be used; all the same in version 2. */
  readonly folders: ReadonlyMap<Controller, string>;
  /** Why a controller cannot be used. */
  readonly lacking: ReadonlyMap<Controller, string>;
}

const PREFIX = `sallyport-${OWN_NAME}-`;
let counter = 0;

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

function attempt(action: () => void): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return errnoOf(error);
  }
}

function ownGroup(text: string, controller: string): string {
  for (const line of text.split('\n')) {
    const [, controllers = '', path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path !== undefined && controllers.split(',').includes(controller)) return path;
  }
  return '/';
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/** Removes groups that a program before us left, which was killed before it could. */
function sweep(folder: string): void {
  for (const name of namesIn(folder)) {
    const owner = /^sallyport-(\d+)-[0-9a-f]+-\d+$/.exec(name)?.[1];
    if (owner === undefined || Number(owner) === process.pid || read(`/proc/${owner}/stat`) !== undefined) continue;
    attempt(() => rmdirSync(join(folder, name)));
  }
}

/** Finds out where groups can be made, by making one. */
export function findGroupHome(mount = '/sys/fs/cgroup', own = '/proc/self/cgroup'): GroupHome {
  const groups = read(own) ?? '';
  const unified = read(join(mount, 'cgroup.controllers')) !== undefined;
  const folders = new Map<Controller, string>();
  const lacking = new Map<Controller, string>();
  const controllers: readonly Controller[] = ['memory', 'pids', 'cpuacct'];
  for (const controller of controllers) {
    const folder = unified ? join(mount, ownGroup(groups, '')) : join(mount, controller, ownGroup(groups, controller));
    const problem = unified && controller !== 'cpuacct' ? delegate(folder, controller) : undefined;
    counter += 1;
    const trial = join(folder, `${PREFIX}${counter}`);
    const errno = problem ?? attempt(() => mkdirSync(trial));
    if (errno !== undefined) {
      lacking.set(controller, `${folder}: ${errno}`);
      continue;
    }
    // A group that processes cannot be moved into is of no use; one's own number would be moved for good, so only the right is looked at.
    const writable = attempt(() => writeFileSync(join(trial, 'cgroup.procs'), ''));
    attempt(() => rmdirSync(trial));
    if (writable === undefined || writable === 'EINVAL') {
      folders.set(controller, folder);
      sharedGuardian().removesGroups(join(folder, PREFIX));
    } else lacking.set(controller, `${folder}: ${writable}`);
    sweep(folder);
  }
  return { version: unified ? 2 : 1, folders, lacking };
}

/** Has the groups below a folder be controlled. The kernel refuses while processes are in the folder itself, unless it is the root. */
function delegate(folder: string, controller: Controller): string | undefined {
  const file = join(folder, 'cgroup.subtree_control');
  if (read(file)?.split(/\s+/).includes(controller)) return undefined;
  return attempt(() => writeFileSync(file, `+${controller}`));
}

/** The control group of one execution. */
export class ControlGroup {
  /** The files that a process writes itself into to be a member. */
  readonly entrances: readonly string[];
  readonly #dialect: Dialect;
  readonly #folders: ReadonlyMap<Controller, string>;
  readonly #limits: ResourceLimits;

  private constructor(dialect: Dialect, folders: ReadonlyMap<Controller, string>, limits: ResourceLimits) {
    this.#dialect = dialect;
    this.#folders = folders;
    this.#limits = limits;
    this.entrances = [...new Set(folders.values())].map((folder) => join(folder, dialect.entrance));
  }

  /** Makes a group with these limits, or nothing where there is no home for it. */
  static create(home: GroupHome, limits: ResourceLimits): ControlGroup | undefined {
    if (home.folders.size === 0) return undefined;
    counter += 1;
    const name = `${PREFIX}${counter}`;
    const folders = new Map([...home.folders].map(([controller, folder]) => [controller, join(folder, name)]));
    const group = new ControlGroup(home.version === 2 ? VERSION_2 : VERSION_1, folders, limits);
    try {
      for (const folder of new Set(folders.values())) mkdirSync(folder);
      group.#apply();
    } catch (error) {
      group.#remove();
      throw error;
    }
    return group;
  }

  #apply(): void {
    const { memoryBytes, processes } = this.#limits;
    const memory = this.#folders.get('memory');
    const pids = this.#folders.get('pids');
    if (memory !== undefined && memoryBytes !== undefined) {
      const [limit = '', ...withSwap] = this.#dialect.memoryLimit;
      writeFileSync(join(memory, limit), String(memoryBytes));
      // Kernels without swap accounting lack these files, and then there is nothing to forbid.
      for (const file of withSwap) attempt(() => writeFileSync(join(memory, file), String(memoryBytes)));
      for (const [file, value] of this.#dialect.memoryExtras) {
        attempt(() => writeFileSync(join(memory, file), value, { flag: 'r+' }));
      }
    }
    if (pids !== undefined && processes !== undefined) {
      writeFileSync(join(pids, 'pids.max'), String(processes + OWN_PROCESSES));
    }
  }

  #number(controller: Controller, file: string, field: RegExp): number | undefined {
    const folder = this.#folders.get(controller);
    const found = folder === undefined ? undefined : field.exec(read(join(folder, file)) ?? '')?.[1];
    return found === undefined ? undefined : Number(found);
  }

  /** Looks what was used, and which limit was hit. What the program says of itself decides nothing alone. */
  inspect(exitCode: number | null): Aftermath {
    const { usage, memoryPeak } = this.#dialect;
    const spent = this.#number('cpuacct', usage.file, usage.field);
    const cpuMs = spent === undefined ? undefined : spent / usage.perMs;
    const maxRssBytes = this.#number('memory', memoryPeak, /^(\d+)/);
    const limit = this.#limitHit(exitCode, cpuMs ?? 0);
    return {
      ...(limit === undefined ? {} : { limit }),
      ...(cpuMs === undefined ? {} : { cpuMs }),
      ...(maxRssBytes === undefined ? {} : { maxRssBytes }),
    };
  }

  #limitHit(exitCode: number | null, cpuMs: number): LimitHit | undefined {
    const { cpuSeconds = Number.POSITIVE_INFINITY } = this.#limits;
    if ((this.#number('memory', this.#dialect.oomKills, /^oom_kill (\d+)/m) ?? 0) > 0) return 'memory';
    const signalled = exitCode === 128 + constants.signals.SIGXCPU || exitCode === 128 + constants.signals.SIGKILL;
    if (signalled && cpuMs >= cpuSeconds * 1_000 * CPU_ACCURACY) return 'cpu';
    return (this.#number('pids', 'pids.events', /^max (\d+)/m) ?? 0) > 0 ? 'processes' : undefined;
  }

  /** Removes the group once the kernel lets go of it. */
  async dispose(): Promise<void> {
    for (let round = 0; round < GROUP_REMOVAL_TRIES && !this.#remove(); round += 1) await pause(GROUP_REMOVAL_PAUSE_MS);
  }

  #remove(): boolean {
    const errnos = [...new Set(this.#folders.values())].map((folder) => attempt(() => rmdirSync(folder)));
    return errnos.every((errno) => errno === undefined || errno === 'ENOENT');
  }
}

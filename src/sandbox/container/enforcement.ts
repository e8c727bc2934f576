import type { GroupHome } from './control-groups.js';
import type { ResourceLimits } from './policy.js';

/** How a limit holds: for everything together, which is hard; for each process by itself; or not at all. */
export type Hold = 'whole tree' | 'each process' | 'not enforced';

/** How each limit holds on this machine. */
export type Enforcement = Readonly<Record<keyof ResourceLimits, Hold>>;

/** Says how each limit holds. The kernel exempts root from its count of processes, also inside a namespace. */
export function enforcement(home: GroupHome, user = process.getuid?.() ?? 0): Enforcement {
  return {
    memoryBytes: home.folders.has('memory') ? 'whole tree' : 'each process',
    processes: home.folders.has('pids') || user !== 0 ? 'whole tree' : 'not enforced',
    cpuSeconds: 'each process',
    fileSizeBytes: 'each process',
    openFiles: 'each process',
    tmpBytes: 'whole tree',
  };
}

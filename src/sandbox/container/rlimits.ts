import type { SpawnLimits } from '../request.js';
import type { GroupHome } from './control-groups.js';
import { CPU_GRACE_SECONDS } from './limits.js';
import type { ResourceLimits } from './policy.js';

const least = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b);

/** The limits of a policy and those of a request together: of each the smaller one. */
export function effectiveLimits(policy: ResourceLimits, request: SpawnLimits): ResourceLimits {
  const merged = {
    memoryBytes: least(policy.memoryBytes, request.dataBytes),
    processes: least(policy.processes, request.processes),
    cpuSeconds: least(policy.cpuSeconds, request.cpuSeconds),
    fileSizeBytes: least(policy.fileSizeBytes, request.fileSizeBytes),
    openFiles: least(policy.openFiles, request.openFiles),
    tmpBytes: policy.tmpBytes,
  };
  return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined));
}

/**
 * The argv that sets the limits of the kernel, for each process. It runs inside: a count of processes set outside would
 * be one of all that the user runs. No process ever leaves a core behind.
 */
export function rlimitPrefix(
  prlimit: string,
  limits: ResourceLimits & Pick<SpawnLimits, 'addressSpaceBytes'>,
  home: Pick<GroupHome, 'folders'>,
): string[] {
  const { memoryBytes, processes, cpuSeconds, fileSizeBytes, openFiles, addressSpaceBytes } = limits;
  const options: (readonly [string, string | number | undefined])[] = [
    ['core', 0],
    ['cpu', cpuSeconds === undefined ? undefined : `${cpuSeconds}:${cpuSeconds + CPU_GRACE_SECONDS}`],
    ['fsize', fileSizeBytes],
    ['nofile', openFiles],
    ['as', addressSpaceBytes],
    // Data rather than address space: engines reserve far more than they ever touch.
    ['data', home.folders.has('memory') ? undefined : memoryBytes],
    ['nproc', home.folders.has('pids') ? undefined : processes],
  ];
  return [prlimit, ...options.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}=${value}`])), '--'];
}

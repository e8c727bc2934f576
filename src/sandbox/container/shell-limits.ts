import { spawnSync } from 'node:child_process';
import { PROBE_TIMEOUT_MS } from '../limits.js';
import type { SpawnLimits } from '../request.js';
import { CPU_GRACE_SECONDS, SHELL_LIMITS_MIN } from './limits.js';
import type { ResourceLimits } from './policy.js';

/** POSIX counts the size of files in these; a shell that counts otherwise is found out by trying. */
const BLOCK_BYTES = 512;

function script(limits: ResourceLimits): string {
  const { cpuSeconds, fileSizeBytes, openFiles } = limits;
  return [
    'ulimit -c 0',
    ...(fileSizeBytes === undefined ? [] : [`ulimit -f ${Math.floor(fileSizeBytes / BLOCK_BYTES)}`]),
    ...(openFiles === undefined ? [] : [`ulimit -n ${openFiles}`]),
    ...(cpuSeconds === undefined
      ? []
      : [`ulimit -S -t ${cpuSeconds}`, `ulimit -H -t ${cpuSeconds + CPU_GRACE_SECONDS}`]),
  ].join(' && ');
}

/** Tries whether a shell sets the limits that it is told to. */
export function shellSetsLimits(sh: string): boolean {
  const trial = script({ fileSizeBytes: 8 * BLOCK_BYTES, openFiles: 64, cpuSeconds: 5 });
  const show = 'while read -r line; do echo "$line"; done </proc/self/limits';
  const { stdout } = spawnSync(sh, ['-c', `${trial} && ${show}`], {
    env: {},
    encoding: 'utf8',
    timeout: PROBE_TIMEOUT_MS,
  });
  return (
    /^Max core file size +0 +0 /m.test(stdout) &&
    /^Max file size +4096 +4096 /m.test(stdout) &&
    /^Max open files +64 +64 /m.test(stdout) &&
    /^Max cpu time +5 +6 /m.test(stdout)
  );
}

/**
 * The commands with which the shell that enters the control group also sets the limits of the kernel, which saves the
 * start of another program. Nothing when the shell has no such limit, or one is so small that bubblewrap itself, which
 * is under it too, could not do its work.
 */
export function shellLimits(
  limits: ResourceLimits & Pick<SpawnLimits, 'addressSpaceBytes'>,
  enforced: ReadonlySet<string>,
): string | undefined {
  const { memoryBytes, processes, addressSpaceBytes, fileSizeBytes, openFiles } = limits;
  if (addressSpaceBytes !== undefined) return undefined;
  if (memoryBytes !== undefined && !enforced.has('memory')) return undefined;
  if (processes !== undefined && !enforced.has('pids')) return undefined;
  if (fileSizeBytes !== undefined && fileSizeBytes < SHELL_LIMITS_MIN.fileSizeBytes) return undefined;
  if (openFiles !== undefined && openFiles < SHELL_LIMITS_MIN.openFiles) return undefined;
  return script(limits);
}

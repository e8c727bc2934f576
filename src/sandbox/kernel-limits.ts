import { SallyportError } from '../errors/index.js';
import type { SpawnLimits } from './request.js';
import { findSystemTool } from './resolve-program.js';

const OPTIONS = [
  ['cpuSeconds', '--cpu'],
  ['fileSizeBytes', '--fsize'],
  ['openFiles', '--nofile'],
  ['processes', '--nproc'],
  ['addressSpaceBytes', '--as'],
  ['dataBytes', '--data'],
] as const satisfies readonly (readonly [keyof SpawnLimits, string])[];

let prlimit: string | undefined;

/** The argv to put in front of a program so that the kernel enforces its limits; empty when none is set. */
export function kernelLimitPrefix(limits: SpawnLimits): string[] {
  const options: string[] = [];
  for (const [field, option] of OPTIONS) {
    const value = limits[field];
    if (value !== undefined) options.push(`${option}=${value}`);
  }
  if (options.length === 0) return [];
  prlimit ??= findSystemTool('prlimit');
  if (prlimit === undefined) {
    throw new SallyportError('SPAWN_FAILED', 'limits of the kernel need `prlimit` (util-linux), which is not here', {
      errno: 'ENOENT',
    });
  }
  return [prlimit, ...options, '--'];
}

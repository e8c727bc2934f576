import { readFileSync } from 'node:fs';
import { CliError } from './exit.js';

/** How many files this process may have open. Nothing where the system does not say. */
export function fileHandleLimit(
  limits: () => string = () => readFileSync('/proc/self/limits', 'latin1'),
): number | undefined {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(limits())?.[1];
    return soft === undefined || soft === 'unlimited' ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Refuses to start with fewer handles than the limits allow to be used. */
export function checkFileHandles(needed: number, limit: number | undefined = fileHandleLimit()): void {
  if (limit === undefined || limit >= needed) return;
  throw new CliError(
    `${needed} file handles are needed and ${limit} are allowed: run \`ulimit -n ${needed}\` first, or lower limits.connections`,
  );
}

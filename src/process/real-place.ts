import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** The real place of a path, of which only the beginning may be there. */
export function realPlace(path: string): string {
  const missing: string[] = [];
  for (let at = resolve(path); ; at = dirname(at)) {
    const real = realOf(at);
    if (real !== undefined) return join(real, ...missing.reverse());
    missing.push(basename(at));
  }
}

/** The real place of an entry, itself not followed. It need not be there. */
export function realEntryPlace(path: string): string {
  const full = resolve(path);
  return join(realPlace(dirname(full)), basename(full));
}

/** One question to the system for each part that is missing; only what is there is looked at part by part. */
function realOf(path: string): string | undefined {
  if (path === '/') return path;
  try {
    return existsSync(path) ? realpathSync(path) : undefined;
  } catch {
    // It went away in between.
    return undefined;
  }
}

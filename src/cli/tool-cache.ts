import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where installed tools are kept unless a folder is named: the place of caches on this system. */
export function defaultToolCache(): string {
  const base = process.env['XDG_CACHE_HOME'];
  return join(base === undefined || base === '' ? join(homedir(), '.cache') : base, 'sallyport', 'tools');
}

import { closestName } from '../capabilities/index.js';
import { SallyportError } from '../errors/index.js';
import { printable } from '../wire/index.js';

/**
 * Picks checks by id: a whole id, the beginning of one up to a dot, or a pattern in which `*` stands for anything. Throws
 * CONFORMANCE_UNKNOWN for what picks none.
 */
export function selectChecks<C extends { readonly id: string }>(
  checks: readonly C[],
  only: readonly string[] = [],
): readonly C[] {
  if (only.length === 0) return checks;
  const picked = new Set<C>();
  for (const pattern of only) {
    const matches = checks.filter(({ id }) => fits(id, pattern));
    if (matches.length === 0) throw unknown(pattern, checks);
    for (const check of matches) picked.add(check);
  }
  return checks.filter((check) => picked.has(check));
}

function fits(id: string, pattern: string): boolean {
  if (!pattern.includes('*')) return id === pattern || id.startsWith(`${pattern}.`);
  const parts = pattern.split('*').map((part) => part.replaceAll(/[.\\^$+?()[\]{}|]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(id);
}

function unknown(pattern: string, checks: readonly { readonly id: string }[]): SallyportError {
  const near = closestName(
    pattern,
    checks.map(({ id }) => id),
  );
  const hint = near === undefined ? 'list them with --list' : `did you mean ${near}?`;
  return new SallyportError('CONFORMANCE_UNKNOWN', `no check fits ${printable(pattern, 80)}: ${hint}`);
}

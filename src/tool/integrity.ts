import { failure } from './failure.js';

const tokens = (text: string): string[] => text.split(/\s+/).filter((token) => token !== '');
const algorithm = (token: string): string => token.split('-', 1)[0] ?? '';

/** Compares what a request pins with what the registry says. Throws INTEGRITY_MISMATCH. */
export function checkIntegrity(pinned: string | undefined, actual: string | undefined, subject: string): void {
  if (pinned === undefined) return;
  const known = tokens(actual ?? '');
  const asked = tokens(pinned);
  if (asked.some((token) => known.includes(token))) return;
  const comparable = asked.some((token) => known.some((other) => algorithm(other) === algorithm(token)));
  const reason = comparable ? 'has another hash' : `is only known by ${known.map(algorithm).join(', ') || 'no hash'}`;
  throw failure('INTEGRITY_MISMATCH', `${subject} ${reason}; the request pins ${pinned}`, {
    phase: 'resolve',
    expected: pinned,
    actual: actual ?? null,
  });
}

/** How much of the server's own environment a process inherits. */
export interface EnvPolicy {
  readonly inherit: 'core' | 'all' | 'none';
  readonly ignoreDefaultExcludes: boolean;
  readonly exclude: readonly string[];
  readonly set: Readonly<Record<string, string>>;
  readonly includeOnly: readonly string[];
}

/** What a program needs to find its files and its user, and nothing that could be a secret. */
const CORE = new Set([
  'HOME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'LOGNAME',
  'PATH',
  'SHELL',
  'TEMP',
  'TMP',
  'TMPDIR',
  'USER',
  'USERNAME',
]);

const DEFAULT_EXCLUDES = ['*KEY*', '*SECRET*', '*TOKEN*'];

/** Makes the environment of a process: inherit, exclude, set, include only; then what the request names itself. */
export function applyEnvPolicy(
  policy: EnvPolicy,
  own: Readonly<Record<string, string | undefined>>,
  env: Readonly<Record<string, string>>,
): Record<string, string> {
  const result = new Map<string, string>();
  const excluded = matcher([...(policy.ignoreDefaultExcludes ? [] : DEFAULT_EXCLUDES), ...policy.exclude]);
  for (const [name, value] of Object.entries(own)) {
    if (value === undefined || policy.inherit === 'none' || excluded(name)) continue;
    if (policy.inherit === 'all' || CORE.has(name.toUpperCase())) result.set(name, value);
  }
  for (const [name, value] of Object.entries(policy.set)) result.set(name, value);
  if (policy.includeOnly.length > 0) {
    const included = matcher(policy.includeOnly);
    for (const name of result.keys()) if (!included(name)) result.delete(name);
  }
  for (const [name, value] of Object.entries(env)) result.set(name, value);
  return Object.assign(Object.create(null), Object.fromEntries(result));
}

/** Matches names against patterns with `*` and `?`, whatever the case. No regular expression is made of hostile text. */
function matcher(patterns: readonly string[]): (name: string) => boolean {
  const lower = patterns.map((pattern) => pattern.toLowerCase());
  return (name) => lower.some((pattern) => matches(pattern, name.toLowerCase()));
}

function matches(pattern: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let retry = 0;
  let index = 0;
  while (index < name.length) {
    if (at < pattern.length && pattern[at] === '*') {
      star = at;
      retry = index;
      at += 1;
    } else if (at < pattern.length && (pattern[at] === '?' || pattern[at] === name[index])) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      retry += 1;
      index = retry;
      at = star + 1;
    } else return false;
  }
  while (pattern[at] === '*') at += 1;
  return at === pattern.length;
}

import semver from 'semver';
import validate from 'validate-npm-package-name';

/** What of npm's ways to name a version a request may use. */
export type VersionKind = 'exact' | 'range' | 'tag';

const TAG = /^[A-Za-z0-9][\w.~-]*$/;
/** Longer than any version or range in the registry. */
const VERSION_CHARACTERS = 256;

/** Says why a text is no package name, or nothing. Paths, URLs, aliases and options of npm are none. */
export function packageNameProblem(name: string): string | undefined {
  // npm's own check throws for half a surrogate pair, which no URL can hold.
  if (/\p{Surrogate}/u.test(name)) return 'is not a valid npm package name: it is not well-formed Unicode';
  const result = validate(name);
  if (result.validForNewPackages) return undefined;
  const reasons = [...(result.errors ?? []), ...(result.warnings ?? [])];
  return `is not a valid npm package name: ${reasons[0] ?? 'refused'}`;
}

/** Tells what kind of version a text is, or nothing when it is none. */
export function versionKind(version: string): VersionKind | undefined {
  if (version === '' || version.length > VERSION_CHARACTERS || /[\x00-\x1f\x7f]/.test(version)) return undefined;
  if (semver.valid(version) !== null) return 'exact';
  if (semver.validRange(version) !== null) return 'range';
  return TAG.test(version) ? 'tag' : undefined;
}

/** The canonical form of an exact version: without `v`, `=` or build metadata, as the registry lists it. */
export function exactVersion(version: string): string {
  return semver.valid(version) ?? version;
}

import semver from 'semver';

/** Tells whether a package is on a list of `name` and `name@range`. */
export function isListed(list: readonly string[], name: string, version: string): boolean {
  return list.some((entry) => {
    const at = entry.lastIndexOf('@');
    if (at <= 0) return entry === name;
    return entry.slice(0, at) === name && semver.satisfies(version, entry.slice(at + 1));
  });
}

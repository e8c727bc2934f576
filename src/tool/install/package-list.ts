import semver from 'semver';

/** Tells whether a package is on a list of `name` and `name@range` that lets packages do something. */
export function isAllowed(list: readonly string[], name: string, version: string): boolean {
  return isListed(list, name, (range) => semver.satisfies(version, range));
}

/** Tells whether a package is on a list of `name` and `name@range` that keeps packages out. Prereleases count: `<3` also means 2.0.0-beta.1. */
export function isDenied(list: readonly string[], name: string, version: string): boolean {
  return isListed(list, name, (range) => semver.satisfies(version, range, { includePrerelease: true }));
}

function isListed(list: readonly string[], name: string, covers: (range: string) => boolean): boolean {
  return list.some((entry) => {
    const at = entry.lastIndexOf('@');
    if (at <= 0) return entry === name;
    return entry.slice(0, at) === name && covers(entry.slice(at + 1));
  });
}

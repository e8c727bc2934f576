import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { beneath } from './paths.js';
import type { Policy } from './policy.js';

/** The folder of this package. */
export function ownPackageFolder(): string {
  return realpathSync(fileURLToPath(new URL('../../../', import.meta.url)));
}

/** The folders that a child of ours needs to run code of this package: the code, its manifest and its dependencies. */
export function ownPackagePaths(root = ownPackageFolder()): string[] {
  const above = dirname(root);
  const scoped = basename(above).startsWith('@') ? dirname(above) : above;
  // Installed, the dependencies are neighbours; in a checkout they are below. Neither grants the rest of a project.
  const candidates =
    basename(scoped) === 'node_modules'
      ? [scoped]
      : ['dist', 'package.json', 'node_modules'].map((name) => join(root, name));
  return candidates.filter((path) => existsSync(path)).map((path) => realpathSync(path));
}

/** Adds this package, read-only, to what a policy grants: for children whose program is ours. */
export function withOwnPackage(policy: Policy): Policy {
  const { read, write } = policy.filesystem;
  const missing = ownPackagePaths().filter(
    (path) => ![...read, ...write, '/usr'].some((granted) => beneath(path, granted)),
  );
  return { ...policy, filesystem: { ...policy.filesystem, read: [...read, ...missing] } };
}

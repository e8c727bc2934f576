import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import semver from 'semver';
import { extract } from 'tar';
import { Failure } from './failure.mjs';

/** Where packages are kept, and what tools write; gone with the program. */
export const root = mkdtempSync(join(tmpdir(), 'flawed-executor-'));
process.on('exit', () => rmSync(root, { recursive: true, force: true }));

/** Fetches a package from the registry, and gives the folder that it is in. */
export async function install(registry, packageName, version, is) {
  if (!/^(@[a-z0-9-]+\/)?[a-z0-9-]+$/.test(packageName)) throw new Failure('PACKAGE_NOT_FOUND', 'that is no package');
  const found = await fetch(`${registry}${packageName.replace('/', '%2f')}`);
  if (!found.ok) throw new Failure('PACKAGE_NOT_FOUND', `there is no package ${packageName}`);
  const { versions, 'dist-tags': tags } = await found.json();
  const all = Object.keys(versions);
  const newest = all.at(-1);
  const chosen = is('newest-version') && version === undefined ? newest : choose(all, tags, version ?? 'latest');
  if (chosen === null) throw new Failure('PACKAGE_NOT_FOUND', `there is no version ${version} of ${packageName}`);
  const folder = join(root, packageName.replace('/', '+'), chosen);
  if (existsSync(folder) && !is('no-cache')) return folder;
  const { dist } = versions[chosen];
  const bytes = Buffer.from(await (await fetch(dist.tarball)).arrayBuffer());
  // Each fetch has a folder of its own first: two requests may install the same package at once.
  const own = mkdtempSync(join(root, 'new-'));
  await pipeline(Readable.from([bytes]), extract({ cwd: own, strip: 1 }));
  mkdirSync(dirname(folder), { recursive: true });
  if (!existsSync(folder)) renameSync(own, folder);
  return folder;
}

function choose(all, tags, wanted) {
  return tags[wanted] ?? semver.maxSatisfying(all, wanted);
}

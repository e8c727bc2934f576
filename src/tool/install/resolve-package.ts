import pacote, { type Manifest } from 'pacote';
import { InstallError, jobErrorOf } from './install-problem.js';
import type { ResolvedPackage, ResolveJob } from './jobs.js';
import type { NpmOptions } from './npm-config.js';
import type { PackumentCache } from './packument-cache.js';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

function licenseOf(manifest: Manifest): string | undefined {
  const license = manifest['license'];
  if (typeof license === 'object' && license !== null && 'type' in license) return text(license.type);
  return text(license);
}

/** Asks the registry which version a tag, range or version stands for. */
export async function resolvePackage(
  job: ResolveJob,
  npmOptions: NpmOptions,
  packuments: PackumentCache,
): Promise<ResolvedPackage> {
  const spec = `${job.name}@${job.version}`;
  if (job.freshness === 'fresh') packuments.forget(job.name.replace('/', '%2f'));
  const options = {
    ...npmOptions,
    packumentCache: packuments,
    preferOnline: job.freshness === 'fresh',
    fullMetadata: job.detail === 'full' || job.before !== undefined,
  };
  let manifest: Manifest;
  try {
    manifest = await pacote.manifest(spec, {
      ...options,
      ...(job.before === undefined ? {} : { before: new Date(job.before) }),
    });
  } catch (error) {
    if (job.before === undefined || jobErrorOf(error).problem !== 'no-version') throw error;
    const newer = await pacote.manifest(spec, options);
    throw new InstallError(
      'too-new',
      `${newer.name}@${newer.version} was published after ${job.before}; this executor waits before it runs a release`,
    );
  }
  return {
    name: manifest.name,
    version: manifest.version,
    integrity: text(manifest._integrity) ?? text(manifest.dist?.integrity),
    hasInstallScript: manifest['hasInstallScript'] === true || hasScripts(manifest['scripts']),
    license: licenseOf(manifest),
    description: text(manifest['description']),
    tpmjs: manifest['tpmjs'],
  };
}

function hasScripts(scripts: unknown): boolean {
  if (typeof scripts !== 'object' || scripts === null) return false;
  return ['preinstall', 'install', 'postinstall'].some((event) => Object.hasOwn(scripts, event));
}

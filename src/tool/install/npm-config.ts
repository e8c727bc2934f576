import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import Config from '@npmcli/config';
import npmDefinitions from '@npmcli/config/lib/definitions/index.js';
import type { InstallerSettings } from './jobs.js';

export type NpmOptions = Readonly<Record<string, unknown>>;

/** What of npm's configuration is about reaching a registry. The rest (prefix, global, omit, …) is for people's projects. */
const NETWORK_OPTIONS = new Set([
  'ca',
  'cafile',
  'cert',
  'key',
  'proxy',
  'httpsProxy',
  'noProxy',
  'strictSSL',
  'localAddress',
  'maxSockets',
  'registry',
  'userAgent',
  'forceAuth',
]);

/** Connections to the registry. Each costs tens of milliseconds of TLS set-up where many certificates are trusted; they are reused. */
const MAX_SOCKETS = 6;

/** Where the npm of this Node.js lives, if there is one: its folder may hold a configuration file. */
function npmFolder(): string {
  const folder = resolve(dirname(process.execPath), '..', 'lib', 'node_modules', 'npm');
  return existsSync(folder) ? folder : dirname(process.execPath);
}

/** Reads the machine's npm configuration, as npm itself does, and keeps what is about the network. */
export async function loadNpmOptions({
  cacheDir,
  registry,
  registryTimeoutMs,
}: InstallerSettings): Promise<NpmOptions> {
  const { definitions, shorthands, flatten, nerfDarts } = npmDefinitions;
  const config = new Config({
    definitions,
    shorthands,
    flatten,
    nerfDarts,
    npmPath: npmFolder(),
    argv: [process.execPath, 'npm'],
    env: process.env,
    // No project of anybody's: a `.npmrc` in the folder the server happens to be started in does not count.
    cwd: cacheDir,
  });
  await config.load();
  const chosen: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(config.flat)) {
    if (NETWORK_OPTIONS.has(name) || name.startsWith('//') || name.startsWith('@')) chosen[name] = value;
  }
  if (registry !== undefined) chosen['registry'] = registry.endsWith('/') ? registry : `${registry}/`;
  return {
    ...chosen,
    cache: join(cacheDir, 'npm'),
    maxSockets: MAX_SOCKETS,
    fetchRetries: 2,
    fetchRetryMintimeout: 500,
    fetchRetryMaxtimeout: 4_000,
    // One silent answer must not use up the time of the whole install: asked again, a registry mostly answers.
    timeout: registryTimeoutMs,
  };
}

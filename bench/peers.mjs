// Fetches the packages that a bench compares with, only when asked (--peers), into bench/.peers, which git ignores.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const folder = join(dirname(fileURLToPath(import.meta.url)), '.peers');

/** Whether the command line asks for peers. */
export const wanted = process.argv.includes('--peers');

/** Installs exact versions, unless they are there already. */
export function install(versions) {
  mkdirSync(folder, { recursive: true });
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) writeFileSync(manifest, '{ "private": true }\n');
  const missing = Object.entries(versions).filter(([name, version]) => {
    const file = join(folder, 'node_modules', name, 'package.json');
    return !existsSync(file) || JSON.parse(readFileSync(file, 'utf8')).version !== version;
  });
  if (missing.length === 0) return;
  if (process.stderr.isTTY) process.stderr.write(`fetching ${missing.map(([name]) => name).join(', ')}\n`);
  const specs = missing.map(([name, version]) => `${name}@${version}`);
  const done = spawnSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...specs], {
    cwd: folder,
    encoding: 'utf8',
  });
  if (done.status !== 0) throw new Error(`npm could not fetch ${specs.join(', ')}: ${done.stderr}`);
}

/** Imports an installed peer. */
export function load(name) {
  const require = createRequire(join(folder, 'package.json'));
  return import(pathToFileURL(require.resolve(name)).href);
}

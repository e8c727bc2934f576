// Builds dist/ from src/. With --if-needed it does nothing when dist/ is newer than every source.
import { spawnSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, 'dist', 'cli', 'main.js');

function newest(path) {
  const info = statSync(path);
  if (!info.isDirectory()) return info.mtimeMs;
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), 0);
}

if (process.argv.includes('--if-needed') && existsSync(stamp)) {
  const sources = Math.max(newest(join(root, 'src')), newest(join(root, 'package.json')));
  if (newest(join(root, 'dist')) >= sources) process.exit(0);
}

rmSync(join(root, 'dist'), { recursive: true, force: true });
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc');
const built = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.json')], { stdio: 'inherit' });
if (built.status !== 0) process.exit(built.status ?? 1);

// Files that are not TypeScript (shell scripts, Wasm modules) travel as they are.
cpSync(join(root, 'src'), join(root, 'dist'), {
  recursive: true,
  filter: (from) => statSync(from).isDirectory() || !from.endsWith('.ts'),
});
chmodSync(stamp, 0o755);

// The heap that guests start from is made once, here, by the very code that uses it.
await import('./heap-image.mjs');
await import('./bundle.mjs');

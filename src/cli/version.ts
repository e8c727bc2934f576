import { readFileSync } from 'node:fs';

/** The version of the package that this code was shipped in. */
export function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  const manifest: { version?: unknown } = JSON.parse(text);
  return String(manifest.version);
}

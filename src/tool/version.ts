import { readFileSync } from 'node:fs';

/** The version of the package that this code was shipped in. */
export function implementationVersion(): string {
  const manifest: { version?: unknown } = JSON.parse(
    readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
  );
  return String(manifest.version);
}

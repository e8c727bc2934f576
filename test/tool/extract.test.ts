import { randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { extractPackage } from '../../src/tool/install/extract.js';
import { scratchFolder } from './helpers.js';
import { TestRegistry, tarball } from './registry.js';

/** Files below a folder that this process has open. */
function openBelow(folder: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const file = readlinkSync(`/proc/self/fd/${name}`);
      return file.startsWith(folder) ? [file] : [];
    } catch {
      return [];
    }
  });
}

it('leaves no file, no open handle and no charge of a package that cannot be unpacked to its end', async () => {
  const registry = await TestRegistry.start();
  const bytes = tarball([
    { path: 'package/package.json', content: '{"name":"torn","version":"1.0.0"}' },
    { path: 'package/large.txt', content: randomBytes(200_000).toString('base64') },
  ]);
  bytes.fill(0xff, 100_000, 110_000);
  registry.publish({ name: 'torn', tarball: bytes });
  const folder = join(scratchFolder(), 'torn');
  const budget = { files: 10, bytes: 1_000_000 };
  const extracted = extractPackage(
    {
      name: 'torn',
      version: '1.0.0',
      resolved: `${registry.url}torn/-/1.0.0.tgz`,
      integrity: undefined,
      folder,
      files: 'read-only',
    },
    { registry: registry.url, cache: scratchFolder() },
    budget,
  );
  await expect(extracted).rejects.toMatchObject({ code: 'Z_DATA_ERROR' });
  expect(openBelow(folder)).toEqual([]);
  expect(readdirSync(folder)).toEqual([]);
  expect(budget).toEqual({ files: 10, bytes: 1_000_000 });
  await registry.close();
});

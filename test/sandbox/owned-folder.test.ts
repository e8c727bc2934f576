import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { OwnedFolder, sweepOwnedFolders } from '../../src/sandbox/owned-folder.js';
import { scratchFolder } from '../tool/helpers.js';

it('is left alone while its owner lives, and is gone with it', async () => {
  const parent = join(scratchFolder(), 'x'.repeat(150), 'y');
  const folder = new OwnedFolder(parent, 'p-');
  writeFileSync(join(folder.path, 'file'), '');
  await sweepOwnedFolders(parent, 'p-');
  expect(existsSync(join(folder.path, 'file'))).toBe(true);
  await folder[Symbol.asyncDispose]();
  expect(readdirSync(parent)).toEqual([]);
});

it('is left alone without a socket until it is old, and so is what has another name', async () => {
  const parent = scratchFolder();
  for (const name of ['p-young', 'p-old', 'other']) mkdirSync(join(parent, name));
  const longAgo = new Date(Date.now() - 2 * 3_600_000);
  for (const name of ['p-old', 'other']) utimesSync(join(parent, name), longAgo, longAgo);
  await sweepOwnedFolders(parent, 'p-');
  expect(readdirSync(parent).sort()).toEqual(['other', 'p-young']);
});

import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { copyFile, lstat, mkdir, readdir, readFile, realpath, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FileSystem } from '../../src/process/fs/file-system.js';
import { processLimits } from '../../src/process/limits.js';
import { beneath } from '../../src/sandbox/index.js';

const SECRET = 'the-secret-of-the-house';
/** How long what must hold is tried, and what must fail in the end, which is a matter of few rounds. */
const TRIED_MS = 1_500;
const CONTROL_MS = 30_000;

/** Puts a link in the place of a folder, and the folder back, as fast as it can. */
const SWAPPER = `
const { workerData } = require('node:worker_threads');
const { renameSync, symlinkSync, unlinkSync } = require('node:fs');
const { name, target, stop } = workerData;
const flag = new Int32Array(stop);
const attempt = (work) => { try { work(); } catch {} };
while (Atomics.load(flag, 0) === 0) {
  attempt(() => renameSync(name, name + '.off'));
  attempt(() => symlinkSync(target, name));
  attempt(() => unlinkSync(name));
  attempt(() => renameSync(name + '.off', name));
}`;

let folder = '';
let outside = '';
let tree = '';
let swapper: { readonly worker: Worker; readonly stop: SharedArrayBuffer };

beforeEach(async () => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-race-')));
  outside = join(folder, 'outside');
  tree = join(folder, 'inside/tree');
  mkdirSync(join(outside, 'deep'), { recursive: true });
  mkdirSync(tree, { recursive: true });
  grow();
  writeFileSync(join(outside, 'file'), SECRET);
  const stop = new SharedArrayBuffer(4);
  const worker = new Worker(SWAPPER, { eval: true, workerData: { name: join(tree, 'sub'), target: outside, stop } });
  await new Promise((resolve) => worker.once('online', resolve));
  swapper = { worker, stop };
});
afterEach(async () => {
  Atomics.store(new Int32Array(swapper.stop), 0, 1);
  await new Promise((resolve) => swapper.worker.once('exit', resolve));
  rmSync(folder, { recursive: true, force: true });
});

/** Makes the tree that is worked on, as far as it is not there. */
function grow(): void {
  try {
    mkdirSync(tree, { recursive: true });
    if (readdirSync(tree).length === 0) mkdirSync(join(tree, 'sub'));
    writeFileSync(join(tree, 'sub/file'), 'mine', { flag: 'wx' });
  } catch {
    // There already, or swapped at this very moment.
  }
}

const scope = {
  folder: (path: string) => (beneath(path, join(folder, 'inside')) ? 'write' : 'none'),
  file: (path: string) => (beneath(path, join(folder, 'inside')) ? 'write' : 'none'),
} as const;

const plain = new FileSystem(processLimits());
const confined = new FileSystem(processLimits(), scope);
const intact = (): boolean =>
  existsSync(join(outside, 'file')) && readFileSync(join(outside, 'file'), 'utf8') === SECRET;

/** Does something over and over, and tells in which round it first went wrong. */
async function firstFailure(ms: number, work: () => Promise<unknown>, wrong: (result: unknown) => boolean) {
  const end = performance.now() + ms;
  for (let round = 1; performance.now() < end; round += 1) {
    const result = await work().catch(() => undefined);
    if (wrong(result)) return round;
  }
  return undefined;
}

const leaks = (result: unknown): boolean => String(result).includes(SECRET);

interface Race {
  readonly name: string;
  readonly safe: () => Promise<unknown>;
  /** The same as it is usually written. */
  readonly naive: () => Promise<unknown>;
  readonly wrong: (result: unknown) => boolean;
}

async function naiveRemove(path: string): Promise<void> {
  if (!(await lstat(path)).isDirectory()) return unlink(path);
  for (const name of await readdir(path)) if (name !== 'deep') await naiveRemove(join(path, name));
}

async function naiveCopy(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    if (entry.isDirectory()) await naiveCopy(join(from, entry.name), join(to, entry.name));
    else if (entry.isFile()) await copyFile(join(from, entry.name), join(to, entry.name));
  }
}

async function naiveWalk(path: string): Promise<string[]> {
  const names: string[] = [];
  for (const entry of await readdir(path, { withFileTypes: true })) {
    names.push(join(path, entry.name));
    if (entry.isDirectory()) names.push(...(await naiveWalk(join(path, entry.name))));
  }
  return names;
}

async function checked(path: string): Promise<string> {
  if (!beneath(await realpath(path), join(folder, 'inside'))) throw new Error('outside');
  return path;
}

const copies = (): string => join(folder, 'inside/copies');
const copied = (): boolean => {
  const found = ['sub', 'sub.off'].some((name) => {
    try {
      // A link that was there when the tree was listed is copied as a link.
      return (
        lstatSync(join(copies(), name)).isDirectory() && readFileSync(join(copies(), name, 'file'), 'utf8') === SECRET
      );
    } catch {
      return false;
    }
  });
  rmSync(copies(), { recursive: true, force: true });
  return found;
};

const LIMITS = { maxDepth: 5, maxDirectories: 50, maxEntries: 100, hidden: 'visit', symlinks: 'skip' } as const;

const RACES: readonly Race[] = [
  {
    name: 'remove',
    safe: async () => {
      grow();
      await plain.remove(tree, 'recursive', 'ignore');
    },
    naive: async () => {
      grow();
      await naiveRemove(tree);
    },
    wrong: () => !intact(),
  },
  {
    name: 'copy',
    safe: () => plain.copy(tree, copies(), 'recursive'),
    naive: () => naiveCopy(tree, copies()),
    wrong: copied,
  },
  {
    name: 'walk',
    safe: async () => (await plain.walk(tree, LIMITS)).entries.map(({ path }) => path),
    naive: () => naiveWalk(tree),
    wrong: (result) => String(result).includes('deep'),
  },
  {
    name: 'readFile where files are confined',
    safe: () => confined.readFile(join(tree, 'sub/file')),
    naive: async () => readFile(await checked(join(tree, 'sub/file'))),
    wrong: leaks,
  },
  {
    name: 'writeFile where files are confined',
    safe: () => confined.writeFile(join(tree, 'sub/file'), Buffer.from('mine')),
    naive: async () => writeFile(await checked(join(tree, 'sub/file')), 'mine'),
    wrong: () => !intact(),
  },
  {
    name: 'createDirectory where files are confined',
    safe: () => confined.createDirectory(join(tree, 'sub/made'), 'recursive'),
    naive: async () => mkdir(join(await checked(join(tree, 'sub')), 'made')),
    wrong: () => readdirSync(outside).includes('made'),
  },
];

describe.each(RACES)('$name, while a link is put in the place of a folder', ({ safe, naive, wrong }) => {
  it('never follows it', async () => {
    expect(await firstFailure(TRIED_MS, safe, wrong)).toBeUndefined();
  });

  it('follows it sooner or later as it is usually written', async () => {
    expect(await firstFailure(CONTROL_MS, naive, wrong)).toBeGreaterThan(0);
  });
});

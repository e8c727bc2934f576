import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it, vi } from 'vitest';
import { bundleTree, withoutComments } from '../../src/tool/install/bundle-tree.js';
import { cpuMs } from '../cpu-time.js';
import { here } from '../sandbox/container/rooms.js';
import { errorOf, outputOf, scratchFolder, toolBench } from './helpers.js';
import { confinedAndPlain } from './rooms.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const SECRET = 'the-secret-of-the-house';

/** A tree by hand: its folder, with the files of a package `tool`. */
function treeOf(files: Readonly<Record<string, string>>): string {
  const folder = join(realpathSync(scratchFolder()), 'trees', 'tool');
  const all = { 'package.json': '{"name":"tool","main":"index.js"}', ...files };
  for (const [name, content] of Object.entries(all)) {
    const file = join(folder, 'node_modules', 'tool', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content);
  }
  writeFileSync(join(folder, 'load.mjs'), 'import * as pkg from "tool";\nexport { pkg };\n');
  return folder;
}

const bundle = (folder: string) => bundleTree({ op: 'bundle', folder });

describe('a bundle', () => {
  it('holds what is in the tree, also data', async () => {
    const folder = treeOf({ 'index.js': 'exports.data = require("./data.json");', 'data.json': '{"a":[1,"two"]}' });
    expect(await bundle(folder)).toEqual({ made: true });
    const { pkg } = await import(pathToFileURL(join(folder, 'bundle.mjs')).href);
    expect(pkg.data).toEqual({ a: [1, 'two'] });
  });

  it('is not made of anything outside of the tree, by whatever way it is named', async () => {
    const outside = realpathSync(scratchFolder());
    writeFileSync(join(outside, 'secret.json'), JSON.stringify(SECRET));
    writeFileSync(join(outside, 'secret.js'), `module.exports = ${JSON.stringify(SECRET)};`);
    const folder = treeOf({ 'index.js': '' });
    const own = join(folder, 'node_modules', 'tool');
    symlinkSync(join(outside, 'secret.json'), join(own, 'link.json'));
    symlinkSync(outside, join(own, 'linked'));
    // Node.js looks for packages in the folders around a tree, too; in a room they are not there.
    const around = join(folder, '..', 'node_modules', 'neighbour');
    mkdirSync(around, { recursive: true });
    writeFileSync(join(around, 'index.js'), `module.exports = ${JSON.stringify(SECRET)};`);
    for (const name of [
      join(outside, 'secret.json'),
      join(outside, 'secret.js'),
      join(outside, 'secret'),
      relative(own, join(outside, 'secret.json')),
      './link.json',
      './linked/secret.js',
      'neighbour',
      `${join(outside, 'secret.json')}?raw`,
      `file://${join(outside, 'secret.json')}`,
    ]) {
      for (const source of [
        `exports.found = require(${JSON.stringify(name)});`,
        `try { exports.found = require(${JSON.stringify(name)}); } catch {}`,
        `exports.found = import(${JSON.stringify(name)});`,
      ]) {
        writeFileSync(join(own, 'index.js'), source);
        expect(await bundle(folder), source).toEqual({ made: false });
        expect(existsSync(join(folder, 'bundle.mjs')), source).toBe(false);
      }
    }
  });

  it('is not made of code that depends on its place, which a comment about it does not', async () => {
    expect(await bundle(treeOf({ 'index.js': 'exports.here = __dirname;' }))).toEqual({ made: false });
    expect(await bundle(treeOf({ 'index.js': '/* not __dirname */ exports.here = 1; // __filename' }))).toEqual({
      made: true,
    });
  });
});

describe('the bundler', () => {
  it('bundles a tree again that was evicted and came back', async () => {
    const { registry, executor } = await toolBench({ limits: { maxCacheBytes: 1, warmChildren: 0 } });
    registry.publish({ name: 'dep', files: { 'index.js': 'module.exports = 1;' } });
    for (const name of ['first', 'second']) {
      registry.tool(name, 'import dep from "dep"; export const tool = { execute: () => dep };', {
        manifest: { dependencies: { dep: '*' } },
      });
    }
    for (const [made, packageName] of ['first', 'second', 'first'].entries()) {
      expect(outputOf(await executor.execute({ packageName, name: 'tool' }))).toBe(1);
      await executor.settled();
      expect(executor.stats().cache).toMatchObject({ trees: 1, bundles: made + 1 });
    }
  });
});

describe('comments', () => {
  it('are left out, but for one that nothing ends', () => {
    expect(withoutComments('a /* b */ c // d\ne "http://f" /* g')).toBe('a  c \ne "http://f" /* g');
    expect(withoutComments('// a /* b\nc */')).toBe('\nc */');
  });

  it('are found in a time that grows with the text', () => {
    const started = cpuMs();
    const text = '/* '.repeat(1_000_000);
    expect(withoutComments(text)).toBe(text);
    expect(cpuMs() - started).toBeLessThan(10_000);
  });
});

describe.runIf(here.available)('a package that names a file of the machine', () => {
  it('does not get it from the bundler, at any level', async () => {
    const { registry, confined, plain, caches } = await confinedAndPlain();
    const outside = realpathSync(scratchFolder());
    const secret = join(outside, 'config.json');
    writeFileSync(secret, JSON.stringify({ auth: SECRET }));
    registry.publish({
      name: 'harmless',
      files: { 'index.js': 'module.exports = require("./own.json");', 'own.json': '7' },
    });
    for (const [name, code] of [
      ['thief', `require(${JSON.stringify(secret)})`],
      ['honest', '"nothing"'],
    ] as const) {
      registry.publish({
        name,
        files: { 'index.js': `exports.tool = { execute: () => [require('harmless'), ${code}] };` },
        manifest: { dependencies: { harmless: '*' } },
      });
    }
    for (const executor of [confined, plain]) {
      for (const packageName of ['thief', 'honest']) {
        await executor.execute({ packageName, name: 'tool' });
        await executor.settled();
      }
      expect(outputOf(await executor.execute({ packageName: 'honest', name: 'tool' }))).toEqual([7, 'nothing']);
      expect(executor.stats().cache.bundles).toBe(1);
    }
    expect(errorOf(await confined.execute({ packageName: 'thief', name: 'tool' })).message).toContain('Cannot find');
    for (const cache of [caches.confined, caches.plain]) {
      const files = readdirSync(cache, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
      const bundles = files.filter(({ name }) => name.startsWith('bundle.mjs'));
      expect(bundles).toHaveLength(1);
      for (const { parentPath, name } of bundles) {
        expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain(SECRET);
      }
    }
  });
});

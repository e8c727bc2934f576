import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, vi } from 'vitest';
import { createToolExecutor } from '../../dist/tool/index.js';
import { drafts, errorOf, outputOf, scratchFolder, toolBench } from './helpers.js';
import { tarball } from './registry.js';

// Many processes are started here; a busy machine takes its time.
vi.setConfig({ testTimeout: 180_000, hookTimeout: 60_000 });

const { registry, executor, cacheDir } = await toolBench({
  limits: { maxTreeFiles: 500, maxTreeBytes: 20_000_000, notFoundTtlMs: 60_000 },
});
const SIMPLE = 'export const tool = { execute: () => "ok" };';
const run = (packageName: string, more: object = {}) => executor.execute({ packageName, name: 'tool', ...more });
const trees = (): string[] => readdirSync(join(cacheDir, 'trees'));
const leftovers = (): string[] => drafts(cacheDir);

describe('resolving', () => {
  it('takes exact versions, ranges and tags, and says which version it was', async () => {
    for (const version of ['1.0.0', '1.2.0', '2.0.0']) {
      registry.tool('versions', `export const tool = { execute: () => ${JSON.stringify(version)} };`, {
        version,
        tags: { next: '1.2.0' },
      });
    }
    expect(outputOf(await run('versions'))).toBe('2.0.0');
    expect(outputOf(await run('versions', { version: '1.0.0' }))).toBe('1.0.0');
    expect(outputOf(await run('versions', { version: '^1' }))).toBe('1.2.0');
    const tagged = await run('versions', { version: 'next' });
    expect(outputOf(tagged)).toBe('1.2.0');
    expect(tagged.resolved?.version).toBe('1.2.0');
    expect(tagged.cache).toBe('hit');
    expect(errorOf(await run('versions', { version: '9.9.9' }))).toMatchObject({
      code: 'PACKAGE_NOT_FOUND',
      details: { reason: 'no-version' },
    });
  });

  it('remembers a missing package for a short while', async () => {
    expect(errorOf(await run('no-such-package'))).toMatchObject({
      code: 'PACKAGE_NOT_FOUND',
      details: { reason: 'not-found' },
    });
    const asked = registry.count('no-such-package');
    const again = await run('no-such-package');
    expect(errorOf(again).code).toBe('PACKAGE_NOT_FOUND');
    expect(registry.count('no-such-package')).toBe(asked);
    expect(again).toMatchObject({ success: false, retryable: false, errorStage: 'load' });
  });

  it('tells a registry that cannot be reached from a package that is not there', async () => {
    await using lonely = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: 'http://127.0.0.1:9/',
      limits: { warmChildren: 0 },
    });
    const response = await lonely.execute({ packageName: 'anything', name: 'tool' });
    expect(errorOf(response)).toMatchObject({ code: 'PACKAGE_NOT_FOUND', details: { reason: 'unreachable' } });
    expect(response).toHaveProperty('retryable', true);
  });

  it('obeys how old an answer may be', async () => {
    registry.tool('fresh', SIMPLE);
    const only = { freshness: { kind: 'only-if-cached' } } as const;
    const request = { packageName: 'fresh', name: 'tool' };
    expect(errorOf(await executor.execute(request, only)).code).toBe('NOT_CACHED');
    expect((await executor.execute(request)).cache).toBe('miss');
    expect(outputOf(await executor.execute(request, only))).toBe('ok');
    registry.tool('fresh', 'export const tool = { execute: () => "newer" };', { version: '2.0.0' });
    expect(outputOf(await executor.execute(request))).toBe('ok');
    expect(outputOf(await executor.execute(request, { freshness: { kind: 'no-cache' } }))).toBe('newer');
  });

  it('refuses a package whose hash is not the pinned one, before and after it is installed', async () => {
    registry.tool('pinned', SIMPLE);
    const integrity = `sha512-${'A'.repeat(86)}==`;
    expect(errorOf(await run('pinned', { integrity })).code).toBe('INTEGRITY_MISMATCH');
    expect(trees().some((key) => key.startsWith('pinned'))).toBe(false);
    const good = await run('pinned');
    expect(outputOf(await run('pinned', { integrity: good.resolved?.integrity, version: '1.0.0' }))).toBe('ok');
    expect(errorOf(await run('pinned', { integrity, version: '1.0.0' })).code).toBe('INTEGRITY_MISMATCH');
    registry.tool('swapped', SIMPLE, { integrity });
    expect(errorOf(await run('swapped')).code).toBe('INTEGRITY_MISMATCH');
  });
});

describe('installing', () => {
  it('installs once for any number of identical requests', async () => {
    registry.tool('shared', SIMPLE, { delay: 300 });
    const responses = await Promise.all(Array.from({ length: 8 }, () => run('shared')));
    expect(responses.map(outputOf)).toEqual(Array.from({ length: 8 }, () => 'ok'));
    expect(registry.count('shared/-/')).toBe(1);
  });

  it('brings dependencies, nested versions and peers that conflict', async () => {
    registry.publish(
      { name: 'dep', version: '1.0.0', files: { 'index.js': 'module.exports = 1;' } },
      { name: 'dep', version: '2.0.0', files: { 'index.js': 'module.exports = 2;' } },
    );
    registry.publish({
      name: 'middle',
      files: { 'index.js': 'module.exports = require("dep");' },
      manifest: { dependencies: { dep: '^1' } },
    });
    registry.publish({
      name: 'peered',
      files: { 'index.js': 'module.exports = 3;' },
      manifest: { peerDependencies: { dep: '^1' } },
    });
    registry.tool(
      'nested',
      'import dep from "dep"; import middle from "middle"; export const tool = { execute: () => [dep, middle] };',
      { manifest: { dependencies: { dep: '^2', middle: '*' } } },
    );
    expect(outputOf(await run('nested'))).toEqual([2, 1]);
    registry.tool(
      'conflict',
      'import dep from "dep"; import peered from "peered"; export const tool = { execute: () => [dep, peered] };',
      { manifest: { dependencies: { dep: '^2', peered: '*' } } },
    );
    expect(outputOf(await run('conflict'))).toEqual([2, 3]);
    await executor.settled();
    expect(executor.stats().cache.bundles).toBeGreaterThan(0);
    expect(outputOf(await run('nested'))).toEqual([2, 1]);
  });

  it('brings the dependencies of packages that were published with a lock file', async () => {
    const locked = { _hasShrinkwrap: true, hasShrinkwrap: true };
    registry.publish({ name: 'lock-leaf', files: { 'index.js': 'module.exports = "leaf";' } });
    registry.publish({
      name: 'lock-middle',
      files: { 'index.js': 'module.exports = require("lock-leaf");', 'npm-shrinkwrap.json': '{"lockfileVersion":3}' },
      manifest: { ...locked, dependencies: { 'lock-leaf': '^1' } },
    });
    registry.tool('locked', 'import leaf from "lock-middle"; export const tool = { execute: () => leaf };', {
      files: { 'npm-shrinkwrap.json': '{"lockfileVersion":3}' },
      manifest: { ...locked, dependencies: { 'lock-middle': '^1' } },
    });
    expect(outputOf(await run('locked'))).toBe('leaf');
  });

  it('fetches a package again that arrived damaged', async () => {
    for (const name of ['damaged-torn', 'damaged-changed']) {
      const entries = [
        { path: 'package/package.json', content: JSON.stringify({ name, version: '1.0.0', type: 'module' }) },
        { path: 'package/index.js', content: SIMPLE },
        { path: 'package/data.txt', content: randomBytes(200_000).toString('base64') },
      ];
      const good = tarball(entries);
      const torn = Buffer.from(good).fill(0xff, 100_000, 101_000);
      const changed = tarball([...entries, { path: 'package/more.js', content: SIMPLE }]);
      registry.publish({ name, tarball: good, first: name === 'damaged-torn' ? torn : changed });
      expect(outputOf(await run(name)), name).toBe('ok');
      expect(registry.count(`${name}/-/`)).toBe(2);
      const tree = join(cacheDir, 'trees', trees().find((key) => key.startsWith(name)) ?? '');
      expect(readdirSync(join(tree, 'node_modules', name)).sort()).toEqual(['data.txt', 'index.js', 'package.json']);
    }
  });

  it('never runs install scripts', async () => {
    const touched = join(scratchFolder(), 'touched');
    const scripts = Object.fromEntries(
      ['preinstall', 'install', 'postinstall', 'prepare', 'preprepare'].map((event) => [
        event,
        `touch ${touched}-${event}`,
      ]),
    );
    registry.publish({ name: 'scripted-dep', files: { 'index.js': '', 'binding.gyp': '{}' }, manifest: { scripts } });
    registry.tool('scripted', SIMPLE, {
      manifest: { scripts, dependencies: { 'scripted-dep': '*' } },
      files: { 'binding.gyp': '{}' },
    });
    expect(outputOf(await run('scripted'))).toBe('ok');
    expect(readdirSync(join(touched, '..'))).toEqual([]);
  });

  it('runs the install scripts of packages on the allow-list, without anything of the server', async () => {
    const touched = join(scratchFolder(), 'touched');
    process.env['SERVER_SECRET'] = 'hidden';
    registry.tool('allowed', SIMPLE, {
      manifest: { scripts: { postinstall: `env > ${touched}; echo made > made.txt` } },
    });
    await using trusting = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      policy: { allowScripts: ['allowed@^1'] },
      limits: { warmChildren: 0 },
    });
    expect(outputOf(await trusting.execute({ packageName: 'allowed', name: 'tool' }))).toBe('ok');
    expect(readFileSync(touched, 'utf8')).not.toContain('hidden');
    delete process.env['SERVER_SECRET'];
  });

  it('follows no link that an install script left where the server writes', async () => {
    const victim = scratchFolder();
    writeFileSync(join(victim, 'file'), 'as it was');
    mkdirSync(join(victim, 'folder'), { mode: 0o700 });
    const scripts = {
      'links-marker': `ln -s ${join(victim, 'file')} ../../tree.json`,
      'links-packages': `mv ../../node_modules ../../moved && ln -s ${victim} ../../node_modules`,
    };
    await using trusting = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      level: 'process',
      policy: { allowScripts: Object.keys(scripts) },
      limits: { warmChildren: 0 },
    });
    for (const [packageName, postinstall] of Object.entries(scripts)) {
      registry.tool(packageName, SIMPLE, { manifest: { scripts: { postinstall } } });
      expect(errorOf(await trusting.execute({ packageName, name: 'tool' })).details['phase']).toBe('install');
    }
    expect(readFileSync(join(victim, 'file'), 'utf8')).toBe('as it was');
    expect(lstatSync(join(victim, 'folder')).mode & 0o777).toBe(0o700);
  });

  it('refuses dependencies that come from anywhere but the registry', async () => {
    for (const [index, spec] of [
      'git+ssh://git@127.0.0.1/x.git',
      'git://127.0.0.1/x',
      'github:u/r',
      'http://127.0.0.1:9/x.tgz',
      'file:../../etc',
      'link:/etc',
    ].entries()) {
      registry.tool(`source-${index}`, SIMPLE, { manifest: { dependencies: { x: spec } } });
      expect(errorOf(await run(`source-${index}`)), spec).toMatchObject({
        code: 'PACKAGE_NOT_FOUND',
        details: { reason: 'source' },
      });
    }
  });

  it('obeys the deny-list, also below the tool, and the minimum age of a release', async () => {
    registry.publish({ name: 'evil', files: { 'index.js': '' } });
    registry.tool('uses-evil', SIMPLE, { manifest: { dependencies: { evil: '*' } } });
    registry.tool('young', SIMPLE, { publishedAt: new Date().toISOString() });
    registry.tool('old', SIMPLE);
    await using strict = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      policy: { deny: ['evil@<2'], minReleaseAgeMs: 3_600_000 },
      limits: { warmChildren: 0 },
    });
    const reason = async (packageName: string) =>
      errorOf(await strict.execute({ packageName, name: 'tool' })).details['reason'];
    expect(await reason('evil')).toBe('denied');
    expect(await reason('uses-evil')).toBe('denied');
    expect(await reason('young')).toBe('too-new');
    expect(outputOf(await strict.execute({ packageName: 'old', name: 'tool' }))).toBe('ok');
  });

  it('answers in time and goes on in the background, so that a retry finds it done', async () => {
    registry.tool('sluggish', SIMPLE, { delay: 1_500 });
    await using hasty = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      limits: { installTimeoutMs: 700, warmChildren: 0 },
    });
    const request = { packageName: 'sluggish', name: 'tool' };
    await hasty.warm();
    const first = await hasty.execute(request);
    expect(errorOf(first)).toMatchObject({ code: 'EXECUTION_TIMEOUT', details: { phase: 'install' } });
    expect(first).toHaveProperty('retryable', true);
    await expect.poll(() => hasty.stats().cache.trees).toBe(1);
    expect(outputOf(await hasty.execute(request))).toBe('ok');
    expect(registry.count('sluggish/-/')).toBe(1);
  });

  it('asks a registry again that keeps silent', async () => {
    registry.tool('shy', SIMPLE);
    await using insistent = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      limits: { registryTimeoutMs: 500, warmChildren: 0 },
    });
    registry.silent = 1;
    expect(outputOf(await insistent.execute({ packageName: 'shy', name: 'tool' }))).toBe('ok');
    expect(registry.silent).toBe(0);
  });

  it('gives up an install that never ends, and still serves others', async () => {
    registry.tool('endless', SIMPLE, { delay: 'never' });
    registry.tool('prompt', SIMPLE);
    await using patient = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      limits: { installHardTimeoutMs: 10_000, warmChildren: 0 },
    });
    await patient.warm();
    await patient.prefetch('prompt');
    const [endless, prompt] = await Promise.all([
      patient.execute({ packageName: 'endless', name: 'tool' }),
      patient.execute({ packageName: 'prompt', name: 'tool' }),
    ]);
    expect(errorOf(endless).code).toBe('PACKAGE_NOT_FOUND');
    expect(outputOf(prompt)).toBe('ok');
    expect(drafts(cacheDir)).toEqual([]);
  });

  it('evicts the least recently used trees, never one in use', async () => {
    const filler = { 'data.txt': 'x'.repeat(400_000) };
    for (const name of ['lru-a', 'lru-b', 'lru-c'])
      registry.tool(
        name,
        `import { existsSync } from 'node:fs';
         export const tool = { execute: async ({ until }) => {
           while (until !== undefined && !existsSync(until)) await new Promise((r) => setTimeout(r, 20));
           return 'ok';
         } };`,
        { files: filler },
      );
    await using small = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      limits: { maxCacheBytes: 900_000, warmChildren: 0 },
    });
    const call = (packageName: string, params = {}) =>
      small.execute({ packageName, name: 'tool', version: '1.0.0', params });
    const until = join(scratchFolder(), 'enough');
    await call('lru-a');
    const busy = call('lru-a', { until });
    await call('lru-b');
    await call('lru-c');
    expect(small.stats().cache).toMatchObject({ trees: 2, evictions: 1 });
    writeFileSync(until, '');
    expect(outputOf(await busy)).toBe('ok');
    expect((await call('lru-a')).cache).toBe('hit');
    expect((await call('lru-b')).cache).toBe('miss');
  });
});

describe('a cache that is full or shared', () => {
  it('runs a package that is larger than the whole cache', async () => {
    registry.tool('elephant', SIMPLE, { files: { 'data.txt': 'x'.repeat(400_000) } });
    registry.tool('mouse', SIMPLE);
    await using tiny = createToolExecutor({
      cacheDir: scratchFolder(),
      registry: registry.url,
      limits: { maxCacheBytes: 1_000, warmChildren: 0 },
    });
    const call = (packageName: string) => tiny.execute({ packageName, name: 'tool', version: '1.0.0' });
    expect(outputOf(await call('elephant'))).toBe('ok');
    expect(tiny.stats().cache).toMatchObject({ trees: 1, evictions: 0 });
    expect(outputOf(await call('mouse'))).toBe('ok');
    expect(tiny.stats().cache).toMatchObject({ trees: 1, evictions: 1 });
  });

  it('installs a tree again that another process evicted', async () => {
    registry.tool('host', SIMPLE);
    registry.tool('guest', SIMPLE);
    const common = { cacheDir: scratchFolder(), registry: registry.url };
    await using server = createToolExecutor({ ...common, limits: { warmChildren: 0 } });
    const call = () => server.execute({ packageName: 'host', name: 'tool', version: '1.0.0' });
    expect(outputOf(await call())).toBe('ok');
    await using other = createToolExecutor({ ...common, limits: { warmChildren: 0, maxCacheBytes: 1 } });
    expect(outputOf(await other.execute({ packageName: 'guest', name: 'tool' }))).toBe('ok');
    expect(readdirSync(join(common.cacheDir, 'trees')).filter((key) => key.startsWith('host'))).toEqual([]);
    const again = await call();
    expect(outputOf(again)).toBe('ok');
    expect(again.cache).toBe('miss');
    expect(server.stats().cache.trees).toBe(1);
    expect((await call()).cache).toBe('hit');
  });
});

describe('a tree that another process uses', () => {
  registry.tool(
    'borrowed',
    `import { existsSync, writeFileSync } from 'node:fs';
     export const tool = { execute: async ({ begun, until }) => {
       writeFileSync(begun, '');
       while (!existsSync(until)) await new Promise((r) => setTimeout(r, 20));
       return (await import('./late.js')).late;
     } };`,
    { files: { 'late.js': 'export const late = "in time";' } },
  );
  for (const name of ['filler-a', 'filler-b', 'filler-c']) registry.tool(name, SIMPLE);

  /** Another process that runs the tool until the file `until` is there, and prints the answer. */
  async function borrow(folder: string, until: string) {
    const begun = join(scratchFolder(), 'begun');
    const script = join(scratchFolder(), 'borrower.mjs');
    const call = { packageName: 'borrowed', version: '1.0.0', name: 'tool', params: { begun, until } };
    writeFileSync(
      script,
      `
      import { createToolExecutor } from ${JSON.stringify(new URL('../../dist/tool/index.js', import.meta.url).href)};
      const options = ${JSON.stringify({ cacheDir: folder, registry: registry.url, limits: { warmChildren: 0 }, asyncExecutions: 'none' })};
      const executor = createToolExecutor(options);
      console.log(JSON.stringify(await executor.execute(${JSON.stringify(call)})));
      await executor.dispose();
    `,
    );
    let printed = '';
    const child = execFile(process.execPath, [script]);
    child.stdout?.on('data', (text: string) => {
      printed += text;
    });
    const ended = new Promise((resolve) => child.once('close', resolve)).then(() => printed);
    await expect.poll(() => existsSync(begun), { timeout: 60_000 }).toBe(true);
    return { child, ended };
  }

  it('is not evicted before that has ended, even by a kill', async () => {
    const folder = scratchFolder();
    const until = join(scratchFolder(), 'until');
    const kept = (): string[] => readdirSync(join(folder, 'trees')).map((key) => key.replace(/@.*/, ''));
    const first = await borrow(folder, until);
    await using small = createToolExecutor({
      cacheDir: folder,
      registry: registry.url,
      limits: { warmChildren: 0, maxCacheBytes: 1 },
    });
    const fill = async (packageName: string) =>
      expect(outputOf(await small.execute({ packageName, name: 'tool' }))).toBe('ok');
    await fill('filler-a');
    expect(kept()).toContain('borrowed');
    writeFileSync(until, '');
    expect(JSON.parse(await first.ended)).toMatchObject({ success: true, output: 'in time' });
    const second = await borrow(folder, join(folder, 'never'));
    await fill('filler-b');
    expect(kept()).toContain('borrowed');
    second.child.kill('SIGKILL');
    await second.ended;
    await fill('filler-c');
    await expect.poll(kept).toEqual(['filler-c']);
  });
});

describe('hostile tarballs', () => {
  const base = [
    { path: 'package/package.json', content: '{"name":"x","version":"1.0.0","type":"module","main":"index.js"}' },
    { path: 'package/index.js', content: SIMPLE },
  ];

  it('leaves out links, devices and names that lead elsewhere, and drops modes', async () => {
    const outside = join(scratchFolder(), 'escaped');
    registry.publish({
      name: 'slips',
      tarball: tarball([
        ...base,
        { path: `package/../../../../../../../../${outside.slice(1)}`, content: 'x' },
        { path: outside, content: 'x' },
        { path: 'package/link', type: '2', link: '/etc' },
        { path: 'package/link/passwd', content: 'x' },
        { path: 'package/hard', type: '1', link: '/etc/hostname' },
        { path: 'package/device', type: '3' },
        { path: 'package/setuid', content: '#!/bin/sh', mode: 0o4777 },
        { path: 'package/Case.js', content: '1' },
        { path: 'package/case.js', content: '2' },
      ]),
    });
    expect(outputOf(await run('slips'))).toBe('ok');
    expect(existsSync(outside)).toBe(false);
    const folder = join(
      cacheDir,
      'trees',
      trees().find((key) => key.startsWith('slips')) ?? '',
      'node_modules',
      'slips',
    );
    expect(existsSync(join(folder, 'hard'))).toBe(false);
    expect(existsSync(join(folder, 'device'))).toBe(false);
    expect(lstatSync(join(folder, 'setuid')).mode & 0o7777).toBe(0o555);
    if (existsSync(join(folder, 'link'))) expect(lstatSync(join(folder, 'link')).isSymbolicLink()).toBe(false);
  });

  it('makes no link and no file outside for names of programs and manuals that lead there', async () => {
    const outside = scratchFolder();
    const up = '../'.repeat(12);
    registry.publish({ name: 'odd-programs-dep', files: { 'index.js': '' }, manifest: { bin: `${up}${outside}/dep` } });
    registry.tool('odd-programs', SIMPLE, {
      manifest: {
        bin: { [`${up}${outside}/escaped`]: './index.js', plain: `${up}etc/passwd`, '/abs': './index.js' },
        man: [`${up}${outside}/x.1`, '/etc/passwd.1'],
        directories: { bin: `${up}usr/bin`, man: '/usr/share/man' },
        dependencies: { 'odd-programs-dep': '*' },
      },
    });
    expect(outputOf(await run('odd-programs'))).toBe('ok');
    expect(readdirSync(outside)).toEqual([]);
    const tree = join(cacheDir, 'trees', trees().find((key) => key.startsWith('odd-programs@')) ?? '');
    const links = readdirSync(tree, { recursive: true, withFileTypes: true }).filter((entry) => entry.isSymbolicLink());
    for (const { parentPath, name } of links) {
      expect(realpathSync(join(parentPath, name)).startsWith(realpathSync(tree))).toBe(true);
    }
  });

  it('refuses too many files, too many bytes and bombs, and leaves nothing behind', async () => {
    registry.publish({
      name: 'many-files',
      tarball: tarball([
        ...base,
        ...Array.from({ length: 600 }, (_, index) => ({ path: `package/f${index}`, content: '' })),
      ]),
    });
    registry.publish({ name: 'claims', tarball: tarball([...base, { path: 'package/huge', size: 8_000_000_000 }]) });
    registry.publish({
      name: 'bomb',
      tarball: tarball([...base, { path: 'package/zeros', content: Buffer.alloc(40_000_000) }]),
    });
    registry.publish({ name: 'garbage', tarball: Buffer.from('this is no tarball') });
    registry.publish({
      name: 'half',
      tarball: tarball([...base, { path: 'package/big.txt', content: Buffer.alloc(100_000, 'ab') }]).subarray(0, 120),
    });
    registry.publish({ name: 'not-tar', tarball: gzipSync(Buffer.alloc(2_000, 'x')) });
    for (const name of ['many-files', 'claims', 'bomb', 'garbage', 'half', 'not-tar']) {
      expect(errorOf(await run(name)).code, name).not.toBe('TOOL_EXECUTION_ERROR');
      expect(
        trees().some((key) => key.startsWith(`${name}@`)),
        name,
      ).toBe(false);
    }
    expect(errorOf(await run('many-files'))).toMatchObject({ details: { reason: 'limits' } });
    expect(errorOf(await run('bomb')).details['reason']).toBe('limits');
    expect(leftovers()).toEqual([]);
  });
});

describe('crash safety', () => {
  it('leaves no tree that looks complete and is not when the server is killed while it installs', async () => {
    const folder = scratchFolder();
    const dependencies = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`part-${index}`, '*']));
    for (const [index, name] of Object.keys(dependencies).entries()) {
      registry.publish({
        name,
        files: Object.fromEntries([
          ['index.js', 'module.exports = 1;'],
          ...Array.from({ length: 20 }, (_, at) => [`f${at}.js`, 'x'.repeat(500)]),
        ]),
        delay: index * 12,
      });
    }
    const imports = Object.keys(dependencies)
      .map((name, index) => `import p${index} from ${JSON.stringify(name)};`)
      .join('');
    registry.tool(
      'parts',
      `${imports} export const tool = { execute: () => [${Object.keys(dependencies)
        .map((_, index) => `p${index}`)
        .join()}].length };`,
      { manifest: { dependencies } },
    );
    const script = join(folder, 'server.mjs');
    const entry = new URL('../../dist/tool/index.js', import.meta.url).href;
    writeFileSync(
      script,
      `
      import { createToolExecutor } from ${JSON.stringify(entry)};
      const executor = createToolExecutor({ cacheDir: process.argv[2], registry: ${JSON.stringify(registry.url)}, limits: { warmChildren: 0 } });
      await executor.warm();
      console.log('ready');
      await executor.prefetch('parts');
      console.log('done');
      await executor.dispose();
    `,
    );
    const install = async (cache: string) => {
      const child = execFile(process.execPath, [script, cache]);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      await new Promise((resolve) => child.stdout?.once('data', resolve));
      return { child, ended };
    };
    const filesOf = (cache: string): string[] =>
      existsSync(join(cache, 'trees')) ? readdirSync(join(cache, 'trees'), { recursive: true, encoding: 'utf8' }) : [];
    // One that nobody disturbs says how long it takes, and what a whole tree has.
    const reference = await install(join(folder, 'reference'));
    const started = performance.now();
    await new Promise((resolve) => reference.child.stdout?.once('data', resolve));
    const takes = performance.now() - started;
    await reference.ended;
    const whole = filesOf(join(folder, 'reference')).sort();
    expect(whole.length).toBeGreaterThan(240);
    const MOMENTS = 8;
    const cache = join(folder, 'cache');
    for (let moment = 0; moment < MOMENTS; moment += 1) {
      const { child, ended } = await install(cache);
      await pause(((moment + 0.5) / MOMENTS) * takes);
      child.kill('SIGKILL');
      await ended;
      const found = filesOf(cache).sort();
      if (found.length > 0) expect(found).toEqual(whole);
    }
    await using survivor = createToolExecutor({
      cacheDir: join(folder, 'cache'),
      registry: registry.url,
      limits: { warmChildren: 0 },
    });
    expect(outputOf(await survivor.execute({ packageName: 'parts', name: 'tool' }))).toBe(12);
    // What they left is swept; the one that runs has its own folder.
    await expect.poll(() => readdirSync(join(folder, 'cache', 'tmp'))).toHaveLength(1);
    expect(drafts(join(folder, 'cache'))).toEqual([]);
  });

  it('throws away what lies among the trees without its marker', async () => {
    const folder = scratchFolder();
    registry.tool('marked', SIMPLE);
    const request = { packageName: 'marked', name: 'tool', version: '1.0.0' };
    await using first = createToolExecutor({ cacheDir: folder, registry: registry.url, limits: { warmChildren: 0 } });
    await first.execute(request);
    await first.dispose();
    const [key = ''] = readdirSync(join(folder, 'trees'));
    writeFileSync(join(folder, 'trees', key, 'tree.json'), '{"name":"marked"');
    await using second = createToolExecutor({ cacheDir: folder, registry: registry.url, limits: { warmChildren: 0 } });
    expect((await second.execute(request)).cache).toBe('miss');
    await second.dispose();
    await using third = createToolExecutor({ cacheDir: folder, registry: registry.url, limits: { warmChildren: 0 } });
    expect((await third.execute(request)).cache).toBe('hit');
  });
});

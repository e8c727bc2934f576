import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, expect, it, vi } from 'vitest';
import { InstallerProcess } from '../../dist/tool/install/installer.js';
import { scratchFolder } from './helpers.js';
import { TestRegistry } from './registry.js';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const NODE = process.execPath;
afterEach(() => {
  process.execPath = NODE;
});

const job = { name: 'a', version: '1.0.0', before: undefined, freshness: 'cached', detail: 'short' } as const;

it('fails a job whose process cannot be started, and starts one for the next', async () => {
  const registry = await TestRegistry.start();
  registry.publish({ name: 'a' });
  await using installer = new InstallerProcess(
    { cacheDir: scratchFolder(), registry: registry.url, registryTimeoutMs: 15_000 },
    30_000,
  );
  process.execPath = join(scratchFolder(), 'missing');
  await expect(installer.resolve(job)).rejects.toThrow('could not be started');
  process.execPath = NODE;
  expect(await installer.resolve(job)).toMatchObject({ name: 'a', version: '1.0.0' });
  await registry.close();
});

/** The installers that this process runs. */
function installers(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const parent = Number(/\) \w (\d+)/.exec(readFileSync(`/proc/${name}/stat`, 'latin1'))?.[1]);
        const ours = readFileSync(`/proc/${name}/cmdline`, 'latin1').includes('installer-main.js');
        return parent === process.pid && ours ? [Number(name)] : [];
      } catch {
        return [];
      }
    });
}

it('begins again with an empty folder when a process died over a job', async () => {
  const registry = await TestRegistry.start();
  registry.publish(
    { name: 'quick', files: { 'index.js': '', 'lib/a.js': '' } },
    { name: 'slow', files: { 'index.js': '' }, delay: 1_500 },
    { name: 'both', files: { 'index.js': '' }, manifest: { dependencies: { quick: '*', slow: '*' } } },
  );
  const folder = join(scratchFolder(), 'draft');
  await using installer = new InstallerProcess(
    { cacheDir: scratchFolder(), registry: registry.url, registryTimeoutMs: 15_000 },
    30_000,
  );
  const limits = { maxPackages: 10, maxFiles: 10, maxBytes: 100_000 };
  const lists = { before: undefined, deny: [], allowScripts: [] };
  const built = installer.install(
    { name: 'both', version: '1.0.0', integrity: undefined, ...lists, folder, ...limits },
    () => {},
  );
  built.catch(() => {});
  await expect.poll(() => existsSync(join(folder, 'node_modules/quick/lib/a.js'))).toBe(true);
  writeFileSync(join(folder, 'node_modules', 'left-behind'), '');
  for (const pid of installers()) process.kill(pid, 'SIGKILL');
  expect(await built).toMatchObject({ packages: 3 });
  expect(readdirSync(join(folder, 'node_modules')).sort()).toEqual(['both', 'quick', 'slow']);
  await registry.close();
});

it('outlives a moment without free file handles, with jobs under way', async () => {
  const registry = await TestRegistry.start();
  registry.publish({ name: 'a' });
  // In a process of its own, since the limit is one of a whole process.
  const program = `
    import { closeSync, openSync, readFileSync } from 'node:fs';
    import { InstallerProcess } from ${JSON.stringify(new URL('../../dist/tool/install/installer.js', import.meta.url).href)};
    const [cacheDir, registry] = process.argv.slice(1);
    const job = ${JSON.stringify(job)};
    const installer = new InstallerProcess({ cacheDir, registry }, 30_000);
    const before = new Set(readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').split(' '));
    await installer.resolve(job);
    const [pid] = readFileSync('/proc/self/task/' + process.pid + '/children', 'utf8').split(' ').filter((one) => !before.has(one));
    const answers = [installer.resolve({ ...job, name: 'absent' })];
    process.kill(Number(pid), 'SIGKILL');
    const taken = [];
    try { for (;;) taken.push(openSync('/dev/null')); } catch {}
    const [lost] = await Promise.allSettled(answers);
    const [refused] = await Promise.allSettled([installer.resolve(job)]);
    for (const handle of taken) closeSync(handle);
    const { version } = await installer.resolve(job);
    console.log(JSON.stringify([lost.reason.message, refused.reason.message, version]));
    await installer[Symbol.asyncDispose]();
  `;
  const { stdout } = await promisify(execFile)(
    '/bin/sh',
    ['-c', 'ulimit -n 256; exec "$@"', 'sh', NODE, '--input-type=module', '-e', program, scratchFolder(), registry.url],
    { timeout: 30_000 },
  );
  expect(JSON.parse(stdout)).toEqual([
    expect.stringContaining('could not be started'),
    expect.stringContaining('could not be started'),
    '1.0.0',
  ]);
  await registry.close();
});

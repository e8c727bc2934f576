import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { ControlGroup, findGroupHome } from '../../../src/sandbox/container/control-groups.js';
import { enforcement } from '../../../src/sandbox/container/enforcement.js';

let mount: string;
beforeEach(() => {
  mount = mkdtempSync(join(tmpdir(), 'sallyport-groups-'));
});
afterEach(() => rmSync(mount, { recursive: true, force: true }));

/** A folder that looks like the file system of control groups, as far as files without a kernel behind them can. */
function own(text: string): string {
  const file = join(mount, 'own');
  writeFileSync(file, text);
  return file;
}

test('takes the group of this process in version 2, once its controllers are handed down', () => {
  const home = join(mount, 'me');
  mkdirSync(home);
  writeFileSync(join(mount, 'cgroup.controllers'), 'cpu memory pids\n');
  writeFileSync(join(home, 'cgroup.subtree_control'), 'memory pids\n');
  const found = findGroupHome(mount, own('0::/me\n'));
  expect(found.version).toBe(2);
  expect(found.folders.get('memory')).toBe(home);
  const group = ControlGroup.create(found, { memoryBytes: 4096, processes: 5 });
  const [name = ''] = readdirSync(home).filter((entry) => existsSync(join(home, entry, 'memory.max')));
  expect(readFileSync(join(home, name, 'memory.max'), 'utf8')).toBe('4096');
  expect(readFileSync(join(home, name, 'pids.max'), 'utf8')).toBe('8');
  writeFileSync(join(home, name, 'memory.events'), 'low 0\noom 1\noom_kill 1\n');
  writeFileSync(join(home, name, 'memory.peak'), '4000\n');
  writeFileSync(join(home, name, 'cpu.stat'), 'usage_usec 2500\nuser_usec 1\n');
  expect(group?.inspect(137)).toEqual({ limit: 'memory', cpuMs: 2.5, maxRssBytes: 4000 });
});

test('says which controller cannot be used, and why', () => {
  mkdirSync(join(mount, 'memory'));
  const found = findGroupHome(mount, own('4:memory:/\n'));
  expect(found.version).toBe(1);
  expect(found.lacking.get('pids')).toMatch(/pids\/?: ENOENT$/);
  expect(enforcement(found, 0)).toMatchObject({ memoryBytes: 'whole tree', processes: 'not enforced' });
  expect(enforcement(found, 1000)).toMatchObject({ processes: 'whole tree' });
  const nothing = findGroupHome(join(mount, 'none'), own(''));
  expect(ControlGroup.create(nothing, {})).toBeUndefined();
  expect(enforcement(nothing, 1000)).toMatchObject({ memoryBytes: 'each process' });
});

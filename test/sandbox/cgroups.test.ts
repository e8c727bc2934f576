import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { probeCgroups } from '../../src/sandbox/cgroups.js';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-cgroups-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let count = 0;
/** Lays out a mount with these groups, and the file that says where this process is. */
function layout(own: string, groups: readonly string[], controllers?: string) {
  count += 1;
  const mount = join(folder, `mount${count}`);
  mkdirSync(mount);
  for (const group of groups) {
    mkdirSync(join(mount, group), { recursive: true });
    writeFileSync(join(mount, group, 'cgroup.procs'), '');
  }
  if (controllers !== undefined) writeFileSync(join(mount, 'cgroup.controllers'), `${controllers}\n`);
  const file = join(folder, `own${count}`);
  writeFileSync(file, own);
  return { mount, file };
}

test('version 2 with both controllers and a group of our own that is writable', () => {
  const { mount, file } = layout('0::/user.slice/app\n', ['user.slice/app'], 'cpu io memory pids');
  const finding = probeCgroups(mount, file);
  expect(finding).toMatchObject({ ok: true, detail: expect.stringContaining('version 2') });
  expect(finding.detail).toContain(join(mount, 'user.slice/app'));
});

test('version 2 that does not offer a controller', () => {
  const { mount, file } = layout('0::/\n', ['.'], 'cpu memory');
  expect(probeCgroups(mount, file)).toEqual({ ok: false, detail: 'version 2, lacking: pids (not offered)' });
});

test('version 1 with writable controllers, each in a group of its own', () => {
  const own = '9:name=systemd:/\n8:pids:/a\n4:cpu,memory:/b/c\n0::/\n';
  const { mount, file } = layout(own, ['pids/a', 'memory/b/c']);
  const finding = probeCgroups(mount, file);
  expect(finding.ok).toBe(true);
  expect(finding.detail).toBe(
    `version 1, writable: memory at ${join(mount, 'memory/b/c')}, pids at ${join(mount, 'pids/a')}`,
  );
});

test('version 1 that lacks a controller says which', () => {
  const { mount, file } = layout('8:pids:/a\n', ['pids/a']);
  expect(probeCgroups(mount, file)).toEqual({
    ok: false,
    detail: `version 1, lacking: memory at ${join(mount, 'memory/')} (ENOENT)`,
  });
});

test('no control groups at all', () => {
  expect(probeCgroups(join(folder, 'none'), join(folder, 'none'))).toEqual({ ok: false, detail: 'not mounted' });
});

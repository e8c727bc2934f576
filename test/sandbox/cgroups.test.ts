import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { groupsFinding } from '../../src/sandbox/cgroups.js';
import { findGroupHome } from '../../src/sandbox/container/control-groups.js';

/** A folder that looks like the file system of control groups, and the file that says where this process is. */
function layout(own: string, folders: readonly string[]): { mount: string; file: string } {
  const mount = mkdtempSync(join(tmpdir(), 'sallyport-cgroups-'));
  onTestFinished(() => rmSync(mount, { recursive: true, force: true }));
  for (const folder of folders) mkdirSync(join(mount, folder), { recursive: true });
  writeFileSync(join(mount, 'own'), own);
  return { mount, file: join(mount, 'own') };
}

test('version 1 with controllers that can be used, each in a group of its own', () => {
  const { mount, file } = layout('8:pids:/a\n4:cpu,memory:/b/c\n0::/\n', ['pids/a', 'memory/b/c']);
  expect(groupsFinding(findGroupHome(mount, file))).toEqual({
    ok: true,
    detail: `version 1, writable: memory at ${join(mount, 'memory/b/c')}, pids at ${join(mount, 'pids/a')}`,
  });
});

test('a controller that is not handed down is lacking, though its folder can be written to', () => {
  const { mount, file } = layout('0::/me\n', ['me']);
  writeFileSync(join(mount, 'cgroup.controllers'), 'cpu memory pids\n');
  writeFileSync(join(mount, 'me/cgroup.procs'), '');
  // The kernel refuses to hand a controller down while processes are in the folder itself.
  mkdirSync(join(mount, 'me/cgroup.subtree_control'));
  const { ok, detail } = groupsFinding(findGroupHome(mount, file));
  expect([ok, detail]).toEqual([
    false,
    expect.stringMatching(/^version 2, lacking: memory at .*me: \w+, pids at .*me: \w+$/),
  ]);
});

test('no control groups at all', () => {
  const finding = groupsFinding(findGroupHome('/no/such/mount', '/no/such/file'));
  expect(finding).toMatchObject({ ok: false, detail: expect.stringContaining('ENOENT') });
});

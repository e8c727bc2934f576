import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { findSystemTool } from '../../src/sandbox/resolve-program.js';
import { sallyport } from '../e2e/command.js';

const NAMES = [
  'Node.js',
  'level process',
  'level container',
  'container limits',
  'terminal',
  'bubblewrap',
  'user namespaces',
  'cgroups',
  'prlimit',
  'wasmtime',
  'wazero',
];
const folder = mkdtempSync(join(tmpdir(), 'sallyport-doctor-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Report {
  readonly ok: boolean;
  readonly checks: readonly Record<'name' | 'required' | 'ok' | 'detail' | 'remedy', unknown>[];
}

test('says in words what is here, one line each, and what is missing with its fix', async () => {
  const { code, stdout, stderr } = await sallyport(['doctor']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  for (const name of NAMES) expect(stdout).toMatch(new RegExp(`^(ok|warn) +${name} +\\S`, 'm'));
  const missing = stdout.match(/^warn /gm) ?? [];
  expect(stdout.match(/^ +-> \S/gm) ?? []).toHaveLength(missing.length);
  expect(stdout).toMatch(/All that is required is here\.\n$/);
});

test('prints the same as JSON', async () => {
  const { code, stdout, stderr } = await sallyport(['doctor', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const report: Report = JSON.parse(stdout);
  expect(report.ok).toBe(true);
  expect(report.checks.map(({ name }) => name)).toEqual(NAMES);
  for (const check of report.checks) {
    expect(check).toEqual({
      name: expect.any(String),
      required: expect.any(Boolean),
      ok: expect.any(Boolean),
      detail: expect.stringMatching(/./),
      remedy: expect.stringMatching(/./),
    });
  }
});

test('reports a bubblewrap that is not on PATH, with the fix, and still exits with 0', async () => {
  for (const tool of ['setsid', 'prlimit', 'unshare', 'true']) {
    symlinkSync(String(findSystemTool(tool)), join(folder, tool));
  }
  const { code, stdout } = await sallyport(['doctor'], { env: { PATH: folder } });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^warn bubblewrap +`bwrap` is not here\n +-> apt-get install bubblewrap/m);
});

test('exits with 1 when something required is missing', async () => {
  const env = { PATH: '/no/such/folder' };
  const [words, json] = await Promise.all([sallyport(['doctor'], { env }), sallyport(['doctor', '--json'], { env })]);
  expect(words.code).toBe(1);
  expect(words.stdout).toMatch(/^FAIL terminal +`setsid`.*\n +-> /m);
  expect(words.stdout).toMatch(/Something required is missing\.\n$/);
  expect(json.code).toBe(1);
  expect(JSON.parse(json.stdout)).toMatchObject({ ok: false });
});

test('explains itself with an example', async () => {
  const { code, stdout } = await sallyport(['doctor', '--help']);
  expect(code).toBe(0);
  expect(stdout).toContain('Usage: sallyport doctor');
  expect(stdout).toMatch(/Example:\n +\$ sallyport doctor --json/);
});

test('answers an unknown option with one clear line and exit code 2', async () => {
  const { code, stdout, stderr } = await sallyport(['doctor', '--nope']);
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
  expect(stderr).toContain("unknown option '--nope'");
});

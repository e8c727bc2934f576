import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, test, vi } from 'vitest';
import { probeMachine } from '../../src/sandbox/index.js';
import { findSystemTool } from '../../src/sandbox/resolve-program.js';

const folder = mkdtempSync(join(tmpdir(), 'sallyport-probe-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
afterEach(() => void vi.unstubAllEnvs());

function program(name: string, script: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(folder, name), 0o755);
}

test('finds what this machine has, and says a detail about everything', async () => {
  const machine = await probeMachine();
  expect(machine.processLevel.ok).toBe(true);
  expect(machine.terminal).toEqual({ ok: true, detail: `@lydell/node-pty for ${process.platform}-${process.arch}` });
  for (const finding of Object.values(machine)) expect(finding.detail).not.toBe('');
});

test('says what is missing where nothing is installed', async () => {
  vi.stubEnv('PATH', '/no/such/folder');
  const machine = await probeMachine();
  expect(machine.bubblewrap).toEqual({ ok: false, detail: '`bwrap` is not here' });
  expect(machine.terminal).toMatchObject({ ok: false, detail: expect.stringContaining('setsid') });
  expect(machine.prlimit).toMatchObject({ ok: false, detail: expect.stringContaining('prlimit') });
  expect(machine.userNamespaces.ok).toBe(false);
  expect(machine.wasmtime).toEqual({ ok: false, detail: 'not on PATH' });
  expect(machine.processLevel.ok).toBe(true);
});

test('does not take an installed bubblewrap for one that works', async () => {
  program('bwrap', 'case $1 in --version) echo bubblewrap 9.9 ;; *) echo "No permissions" >&2; exit 1 ;; esac');
  program('wasmtime', 'echo wasmtime 99.0; env');
  program('wazero', 'exit 3');
  symlinkSync('/bin/true', join(folder, 'true'));
  vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`);
  vi.stubEnv('SECRET', 'hidden');
  const machine = await probeMachine();
  expect(machine.bubblewrap).toEqual({ ok: false, detail: 'bubblewrap 9.9 does not work here: No permissions' });
  expect(machine.wasmtime.detail).toContain('wasmtime 99.0');
  expect(machine.wasmtime.detail).not.toContain('hidden');
  expect(machine.wazero).toMatchObject({ ok: false, detail: expect.stringContaining(join(folder, 'wazero')) });
});

test('tools come from absolute folders of our own PATH, or from the usual ones without a PATH', () => {
  program('sh', 'exit 0');
  expect(findSystemTool('sh', `relative::.:${folder}`)).toBe(join(folder, 'sh'));
  expect(findSystemTool('sh', '/no/such/folder')).toBeUndefined();
  expect(findSystemTool('sh', '.')).toMatch(/^\/(usr\/)?bin\/sh$/);
  expect(findSystemTool('sh', '')).toMatch(/^\/(usr\/)?bin\/sh$/);
});

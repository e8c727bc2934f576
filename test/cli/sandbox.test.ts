import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { sallyport } from '../e2e/command.js';
import { here } from '../sandbox/container/rooms.js';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sallyport-cli-sandbox-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('refuses what cannot be meant, with the reason', async () => {
  const attempts: [string[], string][] = [
    [['--net', '*'], 'must be host:port'],
    [['--net', '*.com:443'], 'a whole top-level domain'],
    [['--net', '0177.0.0.1:80'], 'four decimal numbers'],
    [['--net', 'none', '--net', 'a.example.com:80'], 'contradict each other'],
    [['--read', '/'], 'must not be the root'],
    [['--write', '/proc'], 'must not be in /proc'],
    [['--read', folder, '--write', folder], 'both as read and as write'],
    [['--memory', 'much'], 'expected bytes'],
  ];
  for (const [options, reason] of attempts) {
    const { code, stdout, stderr } = await sallyport(['sandbox', ...options, '--', 'true']);
    expect(stderr).toContain(reason);
    expect({ code: code === 0, stdout }).toEqual({ code: false, stdout: '' });
  }
});

test('explains itself with examples', async () => {
  const { code, stdout } = await sallyport(['sandbox', '--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/Examples:\n +sallyport sandbox -- id/);
});

if (!here.available) {
  test('refuses to run where it cannot confine, and says why', async () => {
    const { code, stderr } = await sallyport(['sandbox', '--', 'true']);
    expect(code).toBe(125);
    expect(stderr).toContain('"container" is not available');
  });
}

describe.runIf(here.available)('runs a command', () => {
  test('with its input, output, arguments and exit code', async () => {
    const script = 'cat; echo "$1" >&2; exit 9';
    const ran = await sallyport(['sandbox', '--', 'sh', '-c', script, 'sh', '--read'], { input: 'hello' });
    expect(ran).toMatchObject({ code: 9, stdout: 'hello', stderr: '--read\n' });
  });

  test('in the folder that was granted, with the variables that were named', async () => {
    const env = { PATH: process.env['PATH'] ?? '', HANDED: 'yes', KEPT: 'no' };
    const args = ['sandbox', '--write', folder, '--env', 'HANDED', '--env', 'A=b', '--', 'sh', '-c', 'env >made; pwd'];
    expect(await sallyport(args, { env })).toMatchObject({ code: 0, stdout: `${folder}\n` });
    const made = readFileSync(join(folder, 'made'), 'utf8');
    expect(made).toMatch(/^HANDED=yes$/m);
    expect(made).toMatch(/^A=b$/m);
    expect(made).not.toContain('KEPT');
  });

  test('and ends it when its time is up', async () => {
    expect(await sallyport(['sandbox', '--time', '1', '--', 'sleep', '60'])).toMatchObject({
      code: 124,
      stderr: 'sallyport sandbox: its time was up\n',
    });
  });
});

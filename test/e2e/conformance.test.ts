import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createSpawner } from '../../src/sandbox/index.js';
import { result } from '../sandbox/helpers.js';
import { SALLYPORT, sallyport } from './command.js';

const RUNNER = ['--', process.execPath, SALLYPORT, 'runner'];
const conformance = (...args: string[]) => sallyport(['conformance', ...args]);

describe('sallyport conformance', () => {
  it('judges a command, and exits with 0 when no MUST fails', async () => {
    const { code, stdout, stderr } = await conformance('runner', '--only', 'runner.session.one-done', ...RUNNER);
    expect(stdout).toContain('✓ runner.session.one-done');
    expect(stdout).toContain('Session: 1/1');
    expect(stderr).toBe('');
    expect(code).toBe(0);
  });

  it('exits with 1 when a MUST fails, and says how to run the check again', async () => {
    const args = [
      '--timeout',
      '9000',
      '--only',
      'runner.session.one-done',
      '--',
      process.execPath,
      '-e',
      'process.exit(7)',
    ];
    const { code, stdout } = await conformance('runner', ...args);
    expect(stdout).toContain('came back: the target exited with code 7');
    expect(stdout).toContain(
      `--timeout 9000 --only runner.session.one-done --verbose -- ${process.execPath} -e 'process.exit(7)'`,
    );
    expect(code).toBe(1);
  });

  it('prints JSON, and writes a JUnit file and a badge', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sallyport-conformance-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [junit, badge] = [join(folder, 'report.xml'), join(folder, 'badge.svg')];
    const files = ['--json', '--junit', junit, '--badge', badge];
    const { code, stdout } = await conformance('runner', ...files, '--only', 'runner.session.one-done', ...RUNNER);
    expect(JSON.parse(stdout)).toMatchObject({ suite: 'runner', passed: 1, failed: 0 });
    expect(readFileSync(junit, 'utf8')).toContain('name="runner.session.one-done"');
    expect(readFileSync(badge, 'utf8')).toContain('<svg');
    expect(existsSync(badge)).toBe(true);
    expect(code).toBe(0);
  });

  it('prints every message with --verbose', async () => {
    const { stdout } = await conformance('runner', '--verbose', '--only', 'runner.session.one-done', ...RUNNER);
    expect(stdout).toContain('→ {"type":"execute"');
    expect(stdout).toContain('← {"type":"done"');
  });

  it('shows on a terminal how far it is', async () => {
    await using spawner = createSpawner();
    const child = await spawner.spawn({
      argv: [process.execPath, SALLYPORT, 'conformance', 'runner', '--only', 'runner.session.one-done', ...RUNNER],
      env: { PATH: process.env['PATH'] ?? '' },
      cwd: '/',
      stdio: { kind: 'terminal', rows: 24, cols: 80 },
      level: 'process',
    });
    const { exitCode, text } = await result(child);
    expect(text).toContain('1/1 runner.session.one-done');
    expect(text).toContain('1 passed, 0 failed');
    expect(exitCode).toBe(0);
  });

  it('lists checks without a target', async () => {
    const { code, stdout } = await conformance('runner', '--list');
    expect(stdout).toContain('runner.session.one-done (MUST): ');
    expect(code).toBe(0);
    const one = await conformance('runner', '--list', '--only', 'runner.session.one-done');
    expect(one.stdout).toMatch(/^runner\.session\.one-done .*\n$/);
  });

  it.each([
    [['runner'], 'nothing to judge: sallyport conformance runner -- <command…>'],
    [['runner', '--', '/no/such/program'], 'cannot start /no/such/program: ENOENT'],
    [['runner', '--url', 'ws://127.0.0.1:1', '--', 'x'], 'give a command or --url, not both'],
    [['runner', 'ws://127.0.0.1:1', '--json'], 'sallyport conformance runner --json --url ws://127.0.0.1:1'],
    [['runner', '--list', '--only', 'runner.nothing'], 'no check fits runner.nothing'],
    [['runner', '--url', 'http://127.0.0.1:1'], 'judges a command or a ws: or wss: address'],
    [['runner', '--only', 'runner.nothing', ...RUNNER], 'no check fits runner.nothing'],
    [['runner', '--timeout', 'soon', ...RUNNER], 'expected a whole number'],
    [['runer', ...RUNNER.slice(1)], 'no suite runer: did you mean runner?'],
  ])('exits with 2 for %j', async (args, message) => {
    const { code, stderr, stdout } = await conformance(...args);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

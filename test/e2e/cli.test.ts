import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { sallyport } from './command.js';

const manifest: { version: string } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

describe('the sallyport command', () => {
  it('prints its version', async () => {
    expect(await sallyport(['--version'])).toMatchObject({ code: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });

  it('explains itself with --help and without arguments', async () => {
    const [help, bare] = await Promise.all([sallyport(['--help']), sallyport([])]);
    expect(help).toMatchObject({ code: 0, stderr: '' });
    expect(help.stdout).toContain('Usage: sallyport');
    expect(bare).toMatchObject({ code: 0, stdout: help.stdout });
  });

  it('answers an unknown option or command with one clear line and exit code 2', async () => {
    const [option, command] = await Promise.all([sallyport(['--nope']), sallyport(['nope'])]);
    expect(option.code).toBe(2);
    expect(option.stderr).toContain("unknown option '--nope'");
    expect(option.stderr).not.toContain('    at ');
    expect(command.code).toBe(2);
    expect(command.stderr).toMatch(/unknown command|too many arguments/);
  });
});

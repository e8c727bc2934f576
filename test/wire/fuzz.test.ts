import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

it.each(['frames', 'lines'])(
  'withstands twenty thousand random %s',
  async (target) => {
    const script = ['scripts/fuzz.mjs', '--target', target, '--frames', '20000'];
    const { stdout } = await run(process.execPath, script, { timeout: 150_000 });
    expect(stdout).toMatch(/^2\d{4} frames in \d+ cases/);
    expect(stdout).toContain(' ok');
  },
  60_000,
);

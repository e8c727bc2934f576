import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

it('passes a sample of the conformance tests of the language, but for what is recorded', {
  timeout: 180_000,
}, async () => {
  const { stdout } = await run(process.execPath, ['scripts/language.mjs', '--every', '150'], { timeout: 180_000 });
  expect(stdout).toMatch(/\d+ tests, \d+ passed/);
});

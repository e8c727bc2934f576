import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const run = promisify(execFile);

it('passes a sample of the conformance tests of the language, but for what is recorded', {
  timeout: 180_000,
}, async () => {
  const said = await run(process.execPath, ['scripts/language.mjs', '--every', '150']).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
  expect(said).toMatch(/^\S+ \d+ tests, \d+ passed, [^\n]*\n$/);
});

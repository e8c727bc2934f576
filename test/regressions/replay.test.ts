import { execFile } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';

const run = promisify(execFile);
const root = fileURLToPath(new URL('../..', import.meta.url));
const files = readdirSync(new URL('.', import.meta.url)).filter((name) => name.endsWith('.json'));

/** What the fuzzer says of each file. One process replays all: starting the servers takes longer than the cases. */
let said = '';
beforeAll(async () => {
  const args = ['scripts/fuzz.mjs', '--replay', ...files.map((name) => `test/regressions/${name}`)];
  said = await run(process.execPath, args, { cwd: root }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  );
}, 120_000);

it.each(files)('%s stays fixed', (name) => {
  expect(said).toContain(`ok   test/regressions/${name}: `);
});

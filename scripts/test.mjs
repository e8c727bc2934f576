// The test command: sets up the machine, builds, lints, type-checks and runs every test. The last line counts them all.
// Arguments are handed to vitest: `npm test -- test/wire`.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const bin = (name, file) => join(dirname(require.resolve(`${name}/package.json`)), file);
const scratch = mkdtempSync(join(tmpdir(), 'sallyport-test-'));
const report = join(scratch, 'report.json');

const STEPS = [
  ['set-up', ['scripts/setup.mjs']],
  ['build', ['scripts/build.mjs']],
  ['lint', [bin('@biomejs/biome', 'bin/biome'), 'check', '.']],
  ['types', [bin('typescript', 'bin/tsc'), '-p', 'tsconfig.test.json']],
  ['error docs', ['scripts/errors-doc.mjs', '--check']],
  ['conformance docs', ['scripts/conformance-doc.mjs', '--check']],
];

let passed = 0;
let failed = 0;
function run(name, args) {
  const started = performance.now();
  const result = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' });
  const ok = result.status === 0;
  console.log(`${ok ? 'ok  ' : 'FAIL'} ${name} (${((performance.now() - started) / 1000).toFixed(1)} s)`);
  return ok;
}

try {
  for (const [name, args] of STEPS) {
    if (run(name, args)) passed += 1;
    else failed += 1;
    // Nothing below can run without the system packages or the build.
    if (failed > 0 && (name === 'set-up' || name === 'build')) break;
  }
  if (failed === 0 || passed >= 2) {
    const vitest = bin('vitest', 'vitest.mjs');
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
    const ok = run('tests', [vitest, 'run', ...reporters, ...process.argv.slice(2)]);
    const counts = JSON.parse(readFileSync(report, 'utf8'));
    passed += counts.numPassedTests;
    failed += counts.numFailedTests;
    if (!ok && counts.numFailedTests === 0) failed += 1;
    if (counts.numPassedTests === 0) failed += 1;
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

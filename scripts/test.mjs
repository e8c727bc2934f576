// The test command: sets up the machine, builds, lints, type-checks, runs every test, fuzzes every protocol for a minute and soaks the
// server for two. The last line counts them all. Arguments are handed to vitest, and then that is all: `npm test -- test/wire`.
import { spawn, spawnSync } from 'node:child_process';
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
/** Started together: each waits for its own children most of the time. The seeds are fixed, so that the cases are always the same. */
const LONG_STEPS = [
  ['fuzz', ['scripts/fuzz.mjs', '--target', 'guest,process,wasm,tool', '--time', '60s', '--jobs', '4', '--seed', '1']],
  ['soak', ['scripts/soak.mjs', '--minutes', '2', '--seed', '1', '--out', join(scratch, 'soak')]],
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

/** The same for what takes long, without waiting. What it says is shown when it is over. */
function start([name, args]) {
  const started = performance.now();
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (chunk) => (text += chunk));
  return new Promise((resolve) => {
    child.once('close', (code) => {
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`${text}${code === 0 ? 'ok  ' : 'FAIL'} ${name} (${seconds} s)`);
      resolve(code === 0);
    });
  });
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
    if (process.argv.length === 2) {
      for (const held of await Promise.all(LONG_STEPS.map(start))) {
        if (held) passed += 1;
        else failed += 1;
      }
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

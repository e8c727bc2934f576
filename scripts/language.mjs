// Runs the conformance tests of the language through the guest boundary, and those that fail once more in Node.js. What Node.js passes and
// a guest does not is a difference; each is recorded with a reason.
//
//   npm run language                     all of it; compares with what is recorded
//   npm run language -- --every 100      a sample
//   npm run language -- --as program     tests of the syntax as programs of their own instead of scripts, for comparison; records nothing
//   npm run language -- --write          records the differences, and writes docs/guest-language.md
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { createExecutor } from '../dist/guest/index.js';
import { documentOf, reasonOf } from './language/report.mjs';
import { runAsProgram, runInGuest, runInNode } from './language/run.mjs';
import { readSuite, scriptOf, skipReason } from './language/suite.mjs';

const RECORD = fileURLToPath(new URL('./language/differences.json', import.meta.url));
const DOCUMENT = fileURLToPath(new URL('../docs/guest-language.md', import.meta.url));
const { values: given } = parseArgs({
  options: {
    every: { type: 'string', default: '1' },
    write: { type: 'boolean', default: false },
    only: { type: 'string' },
    as: { type: 'string', default: 'script' },
  },
});
const every = Number(given.every);
if (!Number.isSafeInteger(every) || every < 1) {
  console.error('language: --every takes a whole number above 0');
  process.exit(2);
}

// Tests leave rejections behind on purpose.
process.on('unhandledRejection', () => {});
const { name, tests, harness } = await readSuite();
const asked = tests.filter(
  ({ path }, index) => index % every === 0 && (given.only === undefined || path.includes(given.only)),
);
const isolation = 'thread';
const executor = createExecutor({ isolation, size: availableParallelism() });
const counts = { asked: asked.length, passed: 0, failedInBoth: 0 };
const skipped = new Map();
const differences = [];
const waiting = asked.values();

if (given.as === 'program') {
  await comparePrograms();
  process.exit(0);
}

/** What passes as a script and not as a program: consequences of being the body of an async function. */
async function comparePrograms() {
  const concerns = ({ path, flags }) =>
    path.startsWith('language/') && !flags.includes('raw') && !flags.includes('onlyStrict');
  const programs = asked.filter((test) => concerns(test) && skipReason(test) === undefined);
  let passed = 0;
  for (const test of programs) {
    const outcome = await runAsProgram(executor, test, harness);
    if (outcome === 'passed') passed += 1;
    else if ((await runInGuest(executor, test, scriptOf(test, harness))) === 'passed') {
      console.log(`${test.path}: ${outcome.slice(0, 140)}`);
    }
  }
  console.log(`${programs.length} tests as programs, ${passed} passed`);
  await executor.dispose();
}

async function worker() {
  for (const test of waiting) {
    const reason = skipReason(test);
    if (reason !== undefined) {
      skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
      continue;
    }
    const script = scriptOf(test, harness);
    const outcome = await runInGuest(executor, test, script);
    if (outcome === 'passed') counts.passed += 1;
    else if ((await runInNode(test, script)) !== 'passed') counts.failedInBoth += 1;
    else differences.push({ path: test.path, outcome: outcome.slice(0, 160), reason: reasonOf(test, outcome) });
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${counts.passed} passed, ${differences.length} differ`);
  }
}
await Promise.all(Array.from({ length: availableParallelism() }, worker));
await executor.dispose();
if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
differences.sort((a, b) => (a.path < b.path ? -1 : 1));

if (given.write) {
  const record = Object.fromEntries(differences.map(({ path, reason }) => [path, reason]));
  writeFileSync(RECORD, `${JSON.stringify(record, undefined, 2)}\n`);
  writeFileSync(DOCUMENT, documentOf({ name, every, counts, skipped, differences, node: process.version }));
}
const recorded = JSON.parse(readFileSync(RECORD, 'utf8'));
const news = differences.filter(({ path }) => !Object.hasOwn(recorded, path));
const skips = [...skipped.values()].reduce((sum, count) => sum + count, 0);
console.log(
  `${name}: ${counts.asked} tests, ${counts.passed} passed, ${differences.length} differ from Node.js, ${counts.failedInBoth} fail in both, ${skips} do not apply`,
);
for (const { path, outcome } of news) console.log(`new: ${path}: ${outcome}`);
process.exit(news.length === 0 ? 0 : 1);

// Mixed load over all four boundaries of the built server while things break, with books that have to balance.
//
//   npm run soak -- --minutes 30                              half an hour, seed from the clock
//   npm run soak -- --minutes 2 --seed 7 --out build/soak     repeatable faults; where the report goes
//
// Writes soak.json and soak.svg, prints a verdict, and ends with 1 when it is a bad one. As root it also fills up the disk of the
// cache, which is a small tmpfs then.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Random } from './fuzz/random.mjs';
import { Commands, LOAD_TOOL, runGuest, runTool, runWasm } from './lib/boundaries.mjs';
import { startRegistry } from './lib/registry.mjs';
import { startFaults } from './soak/faults.mjs';
import { Host } from './soak/host.mjs';
import { Ledger } from './soak/ledger.mjs';
import { settleAsync, startLoad } from './soak/load.mjs';
import { plot } from './soak/plot.mjs';
import { judge } from './soak/verdict.mjs';

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string', default: String(Date.now() >>> 0) },
    out: { type: 'string', default: '.' },
  },
});
const [minutes, seed] = [Number(given.minutes), Number(given.seed)];
if (!(minutes > 0) || !Number.isSafeInteger(seed)) {
  console.error('soak: --minutes takes a number above 0, --seed a whole number');
  process.exit(2);
}

const SAMPLE_MS = 1_000;
/** How long the server is left alone at the end before it is measured: idle guests are let go after a minute at most. */
const CALM_MS = Math.min(65_000, Math.max(8_000, minutes * 6_000));
const VERSIONS = Array.from({ length: 40 }, (_, index) => `1.0.${index}`);

const random = new Random(seed);
const registry = await startRegistry(VERSIONS.map((version) => ({ ...LOAD_TOOL, version })));
const folder = mkdtempSync(join(tmpdir(), 'sallyport-soak-'));
const host = new Host(folder, registry);
const ledger = new Ledger();
const samples = [];
const started = performance.now();
const secondsSince = (at) => Number(((at - started) / 1_000).toFixed(1));
try {
  await host.start();
  const before = await settled();
  const sampler = setInterval(() => {
    samples.push({ at: secondsSince(performance.now()), ...host.sample() });
    if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${ledger.asked} asked, ${ledger.faults.length} faults`);
  }, SAMPLE_MS);
  const load = startLoad({ host, ledger, random: new Random(random.next()), versions: VERSIONS });
  const faults = startFaults({ host, registry, random: new Random(random.next()), ledger });
  await delay(minutes * 60_000);
  faults.stop();
  await faults.finished;
  load.stop();
  await load.finished;
  const asyncEnds = await settleAsync(host, load.asyncExecutions);
  const works = await everyBoundary();
  await delay(CALM_MS);
  const after = await settled();
  clearInterval(sampler);
  const leftInTmp = await host.stop();
  const { restarts, audit, problems } = host;
  const facts = { before, after, works, asyncEnds, leftInTmp, restarts, audit, problems, books: ledger.summary() };
  const complaints = judge(facts, samples);
  finish({ minutes, seed, faultKinds: faults.kinds, clockJumps: 'Date of the server alone', ...facts, complaints });
} catch (error) {
  console.error(`soak: gave up: ${error.stack}`);
  for (const problem of host.problems) console.error(`  ${problem}`);
  process.exitCode = 1;
} finally {
  host.dispose();
  await registry.close();
}

/** What the server holds when nothing is asked of it, after one request of each boundary. */
async function settled() {
  await everyBoundary();
  await delay(3_000);
  return host.sample();
}

async function everyBoundary() {
  const commands = new Commands();
  const outcomes = {};
  const runs = { guest: runGuest, wasm: runWasm, tool: runTool, process: () => commands.run(host.socketUrl) };
  for (const [kind, run] of Object.entries(runs)) {
    outcomes[kind] = await run(host.url).then(
      () => 'ok',
      (error) => error.message,
    );
  }
  await commands.close();
  return outcomes;
}

function finish(report) {
  mkdirSync(given.out, { recursive: true });
  const faultTimes = ledger.faults.map(({ name, from }) => ({ at: secondsSince(from), name }));
  const seconds = secondsSince(performance.now());
  const { asked } = report.books;
  const title = `${minutes} minutes, seed ${seed}: ${asked} executions, ${faultTimes.length} faults, ${report.restarts} restarts`;
  writeFileSync(join(given.out, 'soak.json'), `${JSON.stringify({ ...report, samples, faultTimes }, undefined, 1)}\n`);
  writeFileSync(join(given.out, 'soak.svg'), plot({ samples, faultTimes, seconds, title }));
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
  console.log(JSON.stringify(report, undefined, 2));
  console.log(report.complaints.length === 0 ? `soak: held (${title})` : `soak: did not hold (${title})`);
  for (const complaint of report.complaints) console.log(`  ${complaint}`);
  process.exitCode = report.complaints.length === 0 ? 0 : 1;
}

// The one bench harness: every boundary is measured with it, side by side with what a user would pick instead.
//
//   import { bench, report } from './harness.mjs';
//   await bench('decode a call', { sides: { ours: () => …, peer: () => … }, iterations: 20_000 });
//   report();
//
// bench(title, options) runs one comparison and keeps its result:
//   sides       name -> function, sync or async. The first is the baseline that the others are compared with.
//   iterations  calls per measurement; pick it so that one measurement takes a few milliseconds (default 1,000)
//   rounds      measurements per side (default 30); the sides take turns within a round, in an order that rotates,
//               so that whatever else the machine does hits all of them alike
//   warmup      rounds that are not counted (default 3)
//   bytes       bytes that one call moves: adds MB/s
//   operations  operations that one call stands for (default 1), for sides that do many in one go
//   settleMs    rest before each measurement (default 0). A round trip to another process takes several times as long when
//               that process is on another core, and the kernel leaves it there while the cores are busy: without a rest,
//               where one side ran decides where the next one runs. From rest, all sides start alike.
// A ratio is how many times faster a side is than the baseline; it is taken within each round, and reported as the
// median with the middle half of the rounds (its spread), because single timings on a shared machine say little.
//
// report() prints everything: a table for people, or JSON with --json. A progress line shows on a terminal only.
import { cpus } from 'node:os';
import { setTimeout } from 'node:timers/promises';

const results = [];
const asJson = process.argv.includes('--json');
const only = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));

/** Says on what the figures were measured. */
export function machine() {
  const processors = cpus();
  return { cpu: processors[0]?.model.trim() ?? 'unknown', cores: processors.length, node: process.version };
}

/** Measures sides against each other. Words on the command line pick the titles that contain one of them. */
export async function bench(title, options) {
  if (only.length > 0 && !only.some((word) => title.includes(word))) return undefined;
  const { sides, iterations = 1_000, rounds = 30, warmup = 3, bytes, operations = 1, settleMs = 0 } = options;
  const names = Object.keys(sides);
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round += 1) {
    progress(`${title}: ${round < 0 ? 'warm-up' : `round ${round + 1} of ${rounds}`}`);
    for (let turn = 0; turn < names.length; turn += 1) {
      const name = names[(turn + round + warmup) % names.length];
      if (settleMs > 0) await setTimeout(settleMs);
      const nanoseconds = await measure(sides[name], iterations);
      if (round >= 0) samples[name].push(nanoseconds / iterations / operations);
    }
  }
  progress('');
  const baseline = names[0];
  const result = {
    title,
    baseline,
    sides: names.map((name) => summary(name, samples[name], samples[baseline], bytes, operations)),
  };
  results.push(result);
  return result;
}

/** Prints every result so far. */
export function report() {
  if (asJson) {
    console.log(JSON.stringify({ machine: machine(), results }, undefined, 2));
    return;
  }
  const { cpu, cores, node } = machine();
  console.log(`${cpu}, ${cores} cores, Node ${node}`);
  for (const { title, baseline, sides } of results) {
    console.log(`\n${title}`);
    const rows = sides.map((side) => [
      side.name,
      `p50 ${time(side.p50)}`,
      `p95 ${time(side.p95)}`,
      `${count(side.opsPerSecond)}/s`,
      side.megabytesPerSecond === undefined ? '' : `${side.megabytesPerSecond.toFixed(0)} MB/s`,
      side.name === baseline
        ? 'baseline'
        : `${side.ratio.p50.toFixed(2)} x ${baseline} (${side.ratio.p25.toFixed(2)} to ${side.ratio.p75.toFixed(2)})`,
    ]);
    const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
    for (const row of rows)
      console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column])).join('  ')}`.trimEnd());
  }
}

async function measure(side, iterations) {
  const started = process.hrtime.bigint();
  for (let index = 0; index < iterations; index += 1) {
    const pending = side();
    // Awaiting what is not a promise would charge a microtask to a side that is synchronous.
    if (typeof pending?.then === 'function') await pending;
  }
  return Number(process.hrtime.bigint() - started);
}

function summary(name, own, base, bytes, operations) {
  const sorted = [...own].sort(ascending);
  const ratios = own.map((sample, round) => base[round] / sample).sort(ascending);
  const p50 = quantile(sorted, 0.5);
  return {
    name,
    p50,
    p95: quantile(sorted, 0.95),
    opsPerSecond: 1e9 / p50,
    ...(bytes === undefined ? {} : { megabytesPerSecond: (bytes * 1e3) / (p50 * operations) }),
    ratio: { p50: quantile(ratios, 0.5), p25: quantile(ratios, 0.25), p75: quantile(ratios, 0.75) },
  };
}

const ascending = (a, b) => a - b;

function quantile(sorted, share) {
  const at = (sorted.length - 1) * share;
  const low = sorted[Math.floor(at)];
  return low + (sorted[Math.ceil(at)] - low) * (at % 1);
}

function time(nanoseconds) {
  if (nanoseconds < 1e3) return `${nanoseconds.toFixed(0)} ns`;
  if (nanoseconds < 1e6) return `${(nanoseconds / 1e3).toFixed(2)} us`;
  return `${(nanoseconds / 1e6).toFixed(2)} ms`;
}

function count(number) {
  if (number >= 1e6) return `${(number / 1e6).toFixed(2)} M`;
  if (number >= 1e4) return `${(number / 1e3).toFixed(0)} k`;
  return number.toFixed(number < 100 ? 1 : 0);
}

function progress(line) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}

// Feeds random and mutated input to the decoders of the built package and checks what must always hold.
//
//   npm run fuzz                                              one million frames, seed from the clock
//   npm run fuzz -- --target frames --frames 50000 --seed 7   repeatable
//   npm run fuzz -- --time 60s                                until the time is up
//   npm run fuzz -- --replay fuzz-frames-7.json               one case again
//
// A target is a module in scripts/fuzz/: `generate(random)` makes a case, `check(case)` returns { frames, outcome } or
// throws, `serialize` and `deserialize` carry a case to a file and back.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Random } from './fuzz/random.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'fuzz');
const root = dirname(dirname(folder));
/** What a run may grow by: garbage of small cases is collected long before; a decoder that trusts a header gets past it. */
const MAX_GROWTH_BYTES = 512 * 1024 * 1024;
const CHECK_EVERY = 1_000;

function usage(problem) {
  console.error(`fuzz: ${problem}`);
  process.exit(2);
}

function positiveInteger(name, text) {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 0) usage(`--${name} takes a whole number, not "${text}"`);
  return value;
}

function milliseconds(text) {
  const match = /^(\d+)(ms|s|m)$/.exec(text);
  if (match === null) usage(`--time takes a duration such as 60s, not "${text}"`);
  return Number(match[1]) * { ms: 1, s: 1_000, m: 60_000 }[match[2]];
}

function options() {
  try {
    return parseArgs({
      options: {
        target: { type: 'string', default: 'frames' },
        frames: { type: 'string' },
        seed: { type: 'string' },
        time: { type: 'string' },
        replay: { type: 'string' },
      },
    }).values;
  } catch (error) {
    return usage(error.message);
  }
}

const given = options();
const targets = readdirSync(folder)
  .map((name) => name.replace(/\.mjs$/, ''))
  .filter((name) => name !== 'random');
if (!targets.includes(given.target)) usage(`there is no target "${given.target}"; there is: ${targets.join(', ')}`);
if (!existsSync(join(root, 'dist', 'wire', 'index.js'))) usage('there is no dist/: run `npm run build` first');
const target = await import(pathToFileURL(join(folder, `${given.target}.mjs`)).href);

if (given.replay !== undefined) {
  const saved = JSON.parse(readFileSync(given.replay, 'utf8'));
  // First the very bytes of the file; then the case made again from its seed, which also knows what must come out.
  const { frames, outcome } = await target.check(target.deserialize(saved.case));
  await target.check(target.generate(new Random(saved.caseSeed)));
  console.log(`replayed: ${frames} frames, ${outcome}`);
  process.exit(0);
}

const seed = given.seed === undefined ? Date.now() >>> 0 : positiveInteger('seed', given.seed);
const deadline = given.time === undefined ? Number.POSITIVE_INFINITY : performance.now() + milliseconds(given.time);
const wanted =
  given.frames !== undefined
    ? positiveInteger('frames', given.frames)
    : given.time === undefined
      ? 1_000_000
      : Number.POSITIVE_INFINITY;

const seeds = new Random(seed);
const outcomes = new Map();
const before = process.memoryUsage.rss();
const started = performance.now();
let frames = 0;
let cases = 0;
let peak = 0;

while (frames < wanted) {
  const caseSeed = seeds.next();
  const input = target.generate(new Random(caseSeed));
  try {
    const checked = target.check(input);
    // Awaiting what is not a promise would cost the others more than their check.
    const result = checked instanceof Promise ? await checked : checked;
    frames += result.frames;
    outcomes.set(result.outcome, (outcomes.get(result.outcome) ?? 0) + 1);
    cases += 1;
    if (cases % CHECK_EVERY === 0) {
      peak = Math.max(peak, process.memoryUsage.rss() - before);
      if (peak > MAX_GROWTH_BYTES) throw new Error(`memory grew by ${Math.round(peak / 2 ** 20)} MiB`);
      if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${frames} frames`);
      if (performance.now() > deadline) break;
    }
  } catch (error) {
    const file = `fuzz-${given.target}-${seed}.json`;
    writeFileSync(
      file,
      `${JSON.stringify({ target: given.target, seed, caseSeed, error: String(error?.stack), case: target.serialize(input) }, undefined, 2)}\n`,
    );
    console.error(`\nfuzz: case ${cases} failed (seed ${seed}): ${error?.message}`);
    console.error(`fuzz: again with \`npm run fuzz -- --target ${given.target} --replay ${file}\``);
    process.exit(1);
  }
}

if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
const seconds = (performance.now() - started) / 1_000;
console.log(`${frames} frames in ${cases} cases, ${seconds.toFixed(1)} s, seed ${seed}, target ${given.target}`);
console.log(`memory grew by at most ${Math.max(0, Math.round(peak / 2 ** 20))} MiB`);
for (const [outcome, times] of [...outcomes].sort((a, b) => b[1] - a[1])) console.log(`  ${times} ${outcome}`);

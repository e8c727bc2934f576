// Feeds generated, mutated and random input to the built package and checks what must always hold.
//
//   npm run fuzz                                              every target, two at a time, a minute each, seed from the clock
//   npm run fuzz -- --time 20m --seed 7                       the same, longer and repeatable
//   npm run fuzz -- --target guest --time 60s                 one of them, or several: guest,process
//   npm run fuzz -- --target frames --frames 50000            until so many frames were fed
//   npm run fuzz -- --replay fuzz-guest-7-1.json              cases from files again
//
// A target is a module in scripts/fuzz/targets/: `generate(random)` makes a case, and either `check(case)` or the `check` of what
// `open()` resolves to runs it. A check returns { frames, outcome }, or throws when an oracle is violated. The case list depends
// on the seed alone; what an operating system does with timing does not.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { fuzz } from './fuzz/campaign.mjs';
import { fuzzAll } from './fuzz/fuzz-all.mjs';
import { replay } from './fuzz/replay.mjs';

const folder = join(dirname(fileURLToPath(import.meta.url)), 'fuzz', 'targets');
const DEFAULT_TIME = '60s';

function usage(problem) {
  console.error(`fuzz: ${problem}`);
  process.exit(2);
}

function wholeNumber(name, text) {
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
      allowPositionals: true,
      options: {
        target: { type: 'string', default: 'all' },
        frames: { type: 'string' },
        seed: { type: 'string' },
        time: { type: 'string' },
        jobs: { type: 'string', default: '2' },
        findings: { type: 'string', default: '1' },
        replay: { type: 'string' },
      },
    });
  } catch (error) {
    return usage(error.message);
  }
}

const { values: given, positionals } = options();
const known = readdirSync(folder).map((name) => name.replace(/\.mjs$/, ''));
const targets = given.target === 'all' ? known : given.target.split(',');
const load = (name) => import(pathToFileURL(join(folder, `${name}.mjs`)).href);
for (const name of targets) {
  if (!known.includes(name)) usage(`there is no target "${name}"; there is: ${known.join(', ')}, all`);
}
if (!existsSync(join(dirname(folder), '..', '..', 'dist', 'cli', 'main.js'))) {
  usage('there is no dist/: run `npm run build` first');
}
const seed = given.seed === undefined ? Date.now() >>> 0 : wholeNumber('seed', given.seed);
const time = given.time ?? (given.frames === undefined ? DEFAULT_TIME : undefined);
const maxFindings = wholeNumber('findings', given.findings);

if (given.replay !== undefined) {
  const files = [given.replay, ...positionals];
  const cases = files.map((file) => ({ file, ...JSON.parse(readFileSync(file, 'utf8')) }));
  process.exitCode = await replay(cases, load);
} else if (positionals.length > 0) {
  usage(`what is "${positionals[0]}"?`);
} else if (targets.length > 1) {
  const args = [
    '--seed',
    String(seed),
    '--findings',
    String(maxFindings),
    ...(time === undefined ? [] : ['--time', time]),
  ];
  if (given.frames !== undefined) args.push('--frames', given.frames);
  process.exitCode = await fuzzAll(targets, args, wholeNumber('jobs', given.jobs));
} else {
  const code = await fuzz({
    name: targets[0],
    target: await load(targets[0]),
    seed,
    timeMs: time === undefined ? Number.POSITIVE_INFINITY : milliseconds(time),
    frames: given.frames === undefined ? Number.POSITIVE_INFINITY : wholeNumber('frames', given.frames),
    maxFindings,
  });
  // Whatever a finding left running is ended with this process, which must not wait for it.
  process.exit(code);
}

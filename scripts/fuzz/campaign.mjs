// One campaign: cases of one target, one after another or in a few lanes at once, until the time or the frames are used up.
import { writeFileSync } from 'node:fs';
import { toFile } from './case-file.mjs';
import { Random } from './random.mjs';
import { closeTarget, openTarget } from './target.mjs';

/** What the fuzzer itself may grow by: garbage of small cases is collected long before; a decoder that trusts a header gets past it. */
const MAX_OWN_GROWTH_BYTES = 512 * 1024 * 1024;
const MEMORY_CHECK_MS = 500;

/** Runs it and prints what came of it. Returns the exit code. */
export async function fuzz({ name, target, seed, timeMs, frames: wanted, maxFindings }) {
  const campaign = new Campaign({ name, target, seed, maxFindings });
  const started = performance.now();
  await campaign.run(started + timeMs, wanted);
  const { frames, cases, peak, outcomes } = campaign;
  const seconds = (performance.now() - started) / 1_000;
  console.log(`${frames} frames in ${cases} cases, ${seconds.toFixed(1)} s, seed ${seed}, target ${name}`);
  console.log(`memory grew by at most ${Math.max(0, Math.round(peak / 2 ** 20))} MiB`);
  const closed = await campaign.close();
  if (closed.summary !== undefined) console.log(closed.summary);
  for (const [outcome, times] of [...outcomes].sort((a, b) => b[1] - a[1])) console.log(`  ${times} ${outcome}`);
  const findings = campaign.findings + closed.findings;
  if (findings > 0) console.log(`${findings} findings`);
  return findings > 0 ? 1 : 0;
}

class Campaign {
  frames = 0;
  cases = 0;
  peak = 0;
  findings = 0;
  outcomes = new Map();
  #name;
  #target;
  #seed;
  #seeds;
  #maxFindings;
  #opened;
  #before = process.memoryUsage.rss();
  #memoryChecked = 0;
  #seen = new Set();
  /** The cases that are under way: a stray rejection may be any one's. */
  #running = new Map();

  constructor({ name, target, seed, maxFindings }) {
    this.#name = name;
    this.#target = target;
    this.#seed = seed;
    this.#seeds = new Random(seed);
    this.#maxFindings = maxFindings;
    const stray = (kind) => (error) => {
      for (const [caseSeed, input] of this.#running) {
        this.#found(caseSeed, input, Object.assign(new Error(`${kind}: ${error?.message}`), { stack: error?.stack }));
      }
    };
    process.on('unhandledRejection', stray('unhandled rejection'));
    process.on('uncaughtException', stray('uncaught exception'));
  }

  async run(deadline, wanted) {
    this.#opened = await openTarget(this.#target);
    const lanes = Array.from({ length: this.#opened.lanes }, () => this.#lane(deadline, wanted));
    await Promise.all(lanes);
    progress('');
  }

  /** What is wrong at the end is nobody's case. */
  async close() {
    try {
      return { summary: await closeTarget(this.#opened), findings: 0 };
    } catch (error) {
      return { summary: `fuzz: at the end: ${error?.message}`, findings: 1 };
    }
  }

  async #lane(deadline, wanted) {
    while (this.frames < wanted && this.findings < this.#maxFindings && performance.now() < deadline) {
      const caseSeed = this.#seeds.next();
      const input = this.#target.generate(new Random(caseSeed));
      this.#running.set(caseSeed, input);
      try {
        const checked = this.#opened.check(input);
        // Awaiting what is not a promise would cost the others more than their check.
        const result = checked instanceof Promise ? await checked : checked;
        this.frames += result.frames;
        this.outcomes.set(result.outcome, (this.outcomes.get(result.outcome) ?? 0) + 1);
        this.cases += 1;
        this.#lookAtMemory();
      } catch (error) {
        this.#found(caseSeed, input, error);
      }
      this.#running.delete(caseSeed);
    }
  }

  #lookAtMemory() {
    if (performance.now() - this.#memoryChecked < MEMORY_CHECK_MS) return;
    this.#memoryChecked = performance.now();
    this.peak = Math.max(this.peak, process.memoryUsage.rss() - this.#before);
    if (this.peak > MAX_OWN_GROWTH_BYTES) throw new Error(`memory grew by ${Math.round(this.peak / 2 ** 20)} MiB`);
    this.#opened.checkMemory?.();
    progress(`${this.#name}: ${this.frames} frames in ${this.cases} cases`);
  }

  #found(caseSeed, input, error) {
    // One fault tends to show in case after case; the first is enough.
    const kind = String(error?.message).replaceAll(/[\d"'].*/gs, '');
    if (this.#seen.has(kind)) return;
    this.#seen.add(kind);
    this.findings += 1;
    const file = `fuzz-${this.#name}-${this.#seed}-${this.findings}.json`;
    const saved = this.#target.saved?.(input) ?? input;
    const facts = { target: this.#name, seed: this.#seed, caseSeed, error: String(error?.stack) };
    writeFileSync(file, toFile({ ...facts, case: saved }));
    progress('');
    console.error(`fuzz: case ${this.cases} failed (seed ${this.#seed}): ${error?.message}`);
    console.error(`fuzz: again with \`npm run fuzz -- --replay ${file}\``);
  }
}

function progress(line) {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}

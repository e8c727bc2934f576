// The faults: one after another, each with an end, chosen at random.
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { descendants } from '../lib/process-table.mjs';

const HOUR_MS = 3_600_000;
/** Forwards less than a day: results of async executions are kept for one. */
const CLOCK_JUMPS = [HOUR_MS, -HOUR_MS, 12 * HOUR_MS, -12 * HOUR_MS, -365 * 24 * HOUR_MS];
const FILL_BYTES = 1024 * 1024;

/** Makes the faults that this machine can have. Each is a function that resolves when it is over. */
function faultsFor({ host, registry, random }) {
  const mood = (name, value) => async () => {
    registry.mood = value;
    await delay(1_000 + random.below(4_000));
    registry.mood = 'well';
    return name;
  };
  return {
    'kill -9 of a child': async () => {
      const pids = descendants(host.pid);
      const victim = pids[random.below(pids.length)];
      if (victim === undefined) return;
      try {
        process.kill(victim, 'SIGKILL');
      } catch {
        // Gone by itself.
      }
    },
    'kill -9 of the server': () => host.killAndRestart(),
    'clock jump': async () => {
      host.setClock(random.pick(CLOCK_JUMPS));
      await delay(1_000 + random.below(3_000));
      host.setClock(0);
      // The server looks at the file a few times a second.
      await delay(500);
    },
    ...(host.canFillDisk ? { 'full disk': () => fillDisk(host.cache, 1_000 + random.below(3_000)) } : {}),
    'slow registry': mood('slow', 2_000),
    'hanging registry': mood('hang', 'hang'),
    'broken registry': mood('broken', 'broken'),
  };
}

/** Fills the cache folder up to its last byte, for a while. */
async function fillDisk(folder, ms) {
  const file = join(folder, 'filler');
  const block = Buffer.alloc(FILL_BYTES);
  try {
    writeFileSync(file, '');
    for (;;) appendFileSync(file, block);
  } catch (error) {
    if (error.code !== 'ENOSPC') throw error;
  }
  await delay(ms);
  rmSync(file, { force: true });
}

/** Lets faults happen until it is stopped. The weights keep the server alive for long enough to do something. */
export function startFaults({ host, registry, random, ledger }) {
  let stopping = false;
  const faults = faultsFor({ host, registry, random });
  const often = ['kill -9 of a child', 'kill -9 of a child', 'kill -9 of a child'];
  const names = [...often, ...Object.keys(faults)];
  const run = async () => {
    while (!stopping) {
      await delay(1_000 + random.below(3_000));
      if (stopping) return;
      const name = random.pick(names);
      const over = ledger.fault(name);
      await faults[name]();
      over();
    }
  };
  const finished = run();
  return {
    kinds: Object.keys(faults),
    stop: () => {
      stopping = true;
    },
    finished,
  };
}

import { randomFillSync } from 'node:crypto';

const seeds = new Int32Array(1024);
let seedsUsed = seeds.length;

/** A random number of 32 bits, from a store that is filled in one go. */
export function randomSeed(): number {
  if (seedsUsed === seeds.length) {
    randomFillSync(seeds);
    seedsUsed = 0;
  }
  return seeds[seedsUsed++] ?? 0;
}

// Preloaded into the server: shifts the clock that `Date` shows by what a file says, in milliseconds. Timers and `performance.now`
// follow the monotonic clock of the kernel, which no change of the time of day moves, so they are left alone.
import { readFileSync } from 'node:fs';

const file = process.env.SOAK_CLOCK_FILE;
const LOOK_EVERY_MS = 200;
let shift = 0;
const Real = Date;

class ShiftedDate extends Real {
  constructor(...args) {
    if (args.length === 0) super(Real.now() + shift);
    else super(...args);
  }

  static now() {
    return Real.now() + shift;
  }
}

globalThis.Date = ShiftedDate;
setInterval(() => {
  try {
    shift = Number(readFileSync(file, 'utf8')) || 0;
  } catch {
    // Not there yet.
  }
}, LOOK_EVERY_MS).unref();

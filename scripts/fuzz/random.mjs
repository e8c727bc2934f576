// A small seeded generator (mulberry32), so that a run can be repeated from its seed alone.
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  /** An integer of 32 bits. */
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  }

  /** An integer from 0 to below `limit`. */
  below(limit) {
    return Math.floor((this.next() / 0x1_0000_0000) * limit);
  }

  /** True once in `times`. */
  oneIn(times) {
    return this.below(times) === 0;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  bytes(length) {
    const bytes = Buffer.allocUnsafe(length);
    for (let at = 0; at < length; at += 1) bytes[at] = this.next() & 0xff;
    return bytes;
  }
}

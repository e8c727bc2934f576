// Changes in bytes that know nothing of what the bytes mean.

/** First bytes of MessagePack values that announce more. */
export const LEADS = [
  0xc1, 0xc4, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcf, 0xd3, 0xd4, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf,
];

/** Flips, cuts, doubles and adds bytes. */
export function mutateBytes(random, original) {
  let stream = Buffer.from(original);
  for (let left = 1 + random.below(4); left > 0 && stream.length > 0; left -= 1) {
    const at = random.below(stream.length);
    const until = Math.min(stream.length, at + 1 + random.below(8));
    switch (random.below(6)) {
      case 0:
        stream[at] ^= 1 << random.below(8);
        break;
      case 1:
        stream[at] = random.pick(LEADS);
        break;
      case 2:
        stream[at] = random.next() & 0xff;
        break;
      case 3:
        stream = Buffer.concat([stream.subarray(0, at), stream.subarray(until)]);
        break;
      case 4:
        stream = Buffer.concat([stream.subarray(0, until), stream.subarray(at)]);
        break;
      default:
        stream = random.oneIn(3) ? stream.subarray(0, at) : Buffer.concat([stream, random.bytes(3)]);
    }
  }
  return stream;
}

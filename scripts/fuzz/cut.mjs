// Pieces: how a stream of bytes arrives.

/** Picks the sizes of pieces, which are used in turns. */
export function pieceSizes(random, large = 60) {
  return Array.from({ length: 1 + random.below(8) }, () => 1 + random.below(random.oneIn(2) ? 4 : large));
}

/** Cuts bytes into pieces of these sizes. Each is a copy, as chunks of a pipe have memory of their own. */
export function cut(stream, sizes) {
  const chunks = [];
  for (let at = 0, turn = 0; at < stream.length; turn += 1) {
    const size = sizes[turn % sizes.length];
    chunks.push(Buffer.from(stream.subarray(at, at + size)));
    at += size;
  }
  return chunks;
}

/** Cuts bytes at the given places, taken modulo their number, so that any list of numbers is a split. */
export function splitAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => (bytes.length === 0 ? 0 : cut % bytes.length)))].sort((a, b) => a - b);
  const chunks: Uint8Array[] = [];
  let from = 0;
  for (const place of [...places, bytes.length]) {
    chunks.push(bytes.slice(from, place));
    from = place;
  }
  return chunks;
}

/** Bytes of punctuation around a value, roughly: a comma, a colon, quotes. */
const PUNCTUATION = 4;
/** Bytes of a number or a word, roughly. */
const SHORT = 8;

/**
 * Says whether a value that came from JSON has more bytes than this as JSON, roughly, without making the text: one value that
 * is found in many places may make a text that is longer than any string can be.
 */
export function exceedsJsonBytes(value: unknown, maxBytes: number): boolean {
  let left = maxBytes;
  const fits = (item: unknown): boolean => {
    left -= PUNCTUATION;
    if (typeof item === 'string') left -= Buffer.byteLength(item);
    else if (typeof item !== 'object' || item === null) left -= SHORT;
    else if (Array.isArray(item)) return left >= 0 && item.every((each) => fits(each));
    else return left >= 0 && Object.entries(item).every(([key, each]) => fits(key) && fits(each));
    return left >= 0;
  };
  return !fits(value);
}

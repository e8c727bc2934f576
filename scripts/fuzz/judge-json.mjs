// The slow and obvious way to judge JSON, to compare the real one with.

/** The value of a text that must be accepted, as { value }; undefined for one that must not. */
export function judgeJson(bytes, { bytes: limit = Number.POSITIVE_INFINITY, values = 256 * 1024, depth = 64 } = {}) {
  if (bytes.length > limit) return undefined;
  let text;
  let value;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const size = measure(value);
  // `JSON.parse` merges duplicates, so keys are counted in the text.
  if (size.keys !== keysIn(text) || size.values > values || size.depth > depth) return undefined;
  return { value };
}

function keysIn(text) {
  return text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').split(':').length - 1;
}

/** How many values and keys a value has, and how deep it is nested. */
export function measure(value) {
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) {
    return { values: 1, depth: 0, keys: 0 };
  }
  const inside = Object.values(value).map(measure);
  return {
    values: inside.reduce((sum, size) => sum + size.values, 1),
    depth: 1 + inside.reduce((most, size) => Math.max(most, size.depth), 0),
    keys: inside.reduce((sum, size) => sum + size.keys, Array.isArray(value) ? 0 : inside.length),
  };
}

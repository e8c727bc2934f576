// Cases in files: JSON, with bytes in hex.

/** Writes what a file holds. */
export function toFile(content) {
  // A Buffer has turned itself into an object by the time the replacer sees it.
  const replacer = (_key, value) =>
    value?.type === 'Buffer' && Array.isArray(value.data) ? { $hex: Buffer.from(value.data).toString('hex') } : value;
  return `${JSON.stringify(content, replacer, 2)}\n`;
}

/** Turns hex back into bytes, anywhere in a case that was read. */
export function revive(value) {
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$hex === 'string') return Buffer.from(value.$hex, 'hex');
  if (Array.isArray(value)) return value.map(revive);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, revive(item)]));
}

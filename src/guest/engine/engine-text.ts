const SURROGATE_LEAD = 0xed;

/** Decodes the engine's text: UTF-8, with lone surrogates as three bytes of their own. */
export function decodeText(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  if (!text.includes('\ufffd') || !bytes.includes(SURROGATE_LEAD)) return text;
  let result = '';
  let from = 0;
  for (let at = bytes.indexOf(SURROGATE_LEAD); at !== -1; at = bytes.indexOf(SURROGATE_LEAD, at + 1)) {
    const second = bytes[at + 1] ?? 0;
    if (second < 0xa0) continue;
    const unit = ((SURROGATE_LEAD & 0x0f) << 12) | ((second & 0x3f) << 6) | ((bytes[at + 2] ?? 0) & 0x3f);
    result += bytes.toString('utf8', from, at) + String.fromCharCode(unit);
    from = at + 3;
  }
  return result + bytes.toString('utf8', from);
}

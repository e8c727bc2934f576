import { isAscii } from 'node:buffer';

/** Up to here a loop in JavaScript beats the call into the runtime. */
export const SHORT_TEXT_BYTES = 16;
/** Up to here a loop finds out faster than the runtime that all bytes are ASCII. */
const SCAN_BYTES = 64;

// The byte order mark is a character like any other on this wire, so it must not be swallowed.
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const { fromCharCode } = String;

/** Decodes strict UTF-8; `undefined` says that it is not. */
export function decodeText(bytes: Buffer, start: number, end: number): string | undefined {
  const ascii = end - start <= SCAN_BYTES ? scanAscii(bytes, start, end) : isAscii(bytes.subarray(start, end));
  return ascii ? bytes.toString('latin1', start, end) : decodeUtf8(bytes, start, end);
}

/** Decodes ASCII of at most a few dozen bytes; `undefined` says that there is something else in it. */
export function shortAscii(bytes: Uint8Array, start: number, end: number): string | undefined {
  let text = '';
  let at = start;
  for (; at + 8 <= end; at += 8) {
    const a = bytes[at]!;
    const b = bytes[at + 1]!;
    const c = bytes[at + 2]!;
    const d = bytes[at + 3]!;
    const e = bytes[at + 4]!;
    const f = bytes[at + 5]!;
    const g = bytes[at + 6]!;
    const h = bytes[at + 7]!;
    if ((a | b | c | d | e | f | g | h) >= 0x80) return undefined;
    text += fromCharCode(a, b, c, d, e, f, g, h);
  }
  for (; at + 2 <= end; at += 2) {
    const a = bytes[at]!;
    const b = bytes[at + 1]!;
    if ((a | b) >= 0x80) return undefined;
    text += fromCharCode(a, b);
  }
  if (at < end) {
    const a = bytes[at]!;
    if (a >= 0x80) return undefined;
    text += fromCharCode(a);
  }
  return text;
}

function scanAscii(bytes: Uint8Array, start: number, end: number): boolean {
  let bits = 0;
  for (let at = start; at < end; at += 1) bits |= bytes[at]!;
  return bits < 0x80;
}

function decodeUtf8(bytes: Uint8Array, start: number, end: number): string | undefined {
  try {
    return strictUtf8.decode(bytes.subarray(start, end));
  } catch {
    return undefined;
  }
}

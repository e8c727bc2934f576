import { shortAscii } from './text.js';

/** 1,024 slots of at most 32 bytes: what hostile keys can fill is bounded, and all they can do is push others out. */
const SLOTS = 1024;
const MAX_KEY_BYTES = 32;

interface Entry {
  readonly bytes: Uint8Array;
  readonly text: string;
}

/**
 * Remembers the short ASCII keys that were seen last, so that a key that comes with every message is neither decoded nor
 * interned again. Each slot holds one key; a key that lands on a taken slot replaces what is there. A hit compares every
 * byte, so no choice of keys can make one pass for another.
 */
export class KeyCache {
  private readonly slots: (Entry | undefined)[] = new Array(SLOTS).fill(undefined);

  /** Gives the key at this place, or `undefined` when it is too long or not ASCII. */
  read(source: Uint8Array, start: number, end: number): string | undefined {
    const length = end - start;
    if (length === 0 || length > MAX_KEY_BYTES) return undefined;
    const slot =
      (source[start]! * 31 + source[end - 1]! * 7 + source[start + (length >> 1)]! * 131 + length * 521) & (SLOTS - 1);
    const entry = this.slots[slot];
    if (entry !== undefined && matches(entry.bytes, source, start, length)) return entry.text;
    return this.remember(slot, source, start, end);
  }

  private remember(slot: number, source: Uint8Array, start: number, end: number): string | undefined {
    const text = shortAscii(source, start, end);
    if (text === undefined) return undefined;
    const bytes = new Uint8Array(end - start);
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = source[start + index]!;
    this.slots[slot] = { bytes, text: intern(text) };
    return text;
  }
}

function matches(key: Uint8Array, source: Uint8Array, start: number, length: number): boolean {
  if (key.length !== length) return false;
  for (let index = 0; index < length; index += 1) if (key[index] !== source[start + index]) return false;
  return true;
}

/** Gives the copy of a string that V8 uses for property names, which it need not look up again when it sets one. */
function intern(text: string): string {
  return Object.keys({ [text]: 0 })[0] ?? text;
}

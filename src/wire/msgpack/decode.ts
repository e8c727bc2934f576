import { DEPTH_CEILING } from '../limits.js';
import { completeBudget, DEFAULT_BUDGET, type DecodeBudget } from './decode-budget.js';
import { KeyCache } from './key-cache.js';
import {
  badUtf8,
  duplicateKey,
  extension,
  keyType,
  neverUsed,
  notFinite,
  tooDeep,
  tooManyBytes,
  tooManyValues,
  trailing,
  truncated,
} from './refusals.js';
import { decodeText, SHORT_TEXT_BYTES, shortAscii } from './text.js';
import type { WireMap, WireValue } from './wire-value.js';

const NOTHING = new Uint8Array(0);
const TWO_32 = 0x1_0000_0000;
/** A small binary is copied by a loop: faster than the view that `set` would need. */
const LOOP_COPY_BYTES = 32;

// One place where the eight bytes of a float are put the right way round; typed arrays use the order of the machine.
const floatBytes = new Uint8Array(8);
const float64 = new Float64Array(floatBytes.buffer);
const float32 = new Float32Array(floatBytes.buffer);
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/**
 * A strict MessagePack decoder in one pass. Every container is charged to the budget, and checked against the bytes that
 * are left, on its header: before anything is allocated for it. Recursion is bounded by the depth of the budget.
 *
 * It never runs code of anyone else, so one decoder serves all callers.
 */
class Decoder {
  private source: Uint8Array = NOTHING;
  /** The source with the methods of a `Buffer`, made when a text needs it. */
  private buffer: Buffer | undefined;
  private position = 0;
  private end = 0;
  private depthLimit = 0;
  private valueLimit = 0;
  private valuesLeft = 0;
  private readonly keys = new KeyCache();

  decode(bytes: Uint8Array, budget: DecodeBudget): WireValue {
    this.open(bytes, budget);
    try {
      const value = this.value(0);
      if (this.position !== this.end) throw trailing(this.position, this.end - this.position);
      return value;
    } finally {
      this.close();
    }
  }

  /** Decodes one map whose fields are known; those with another name are checked like any and forgotten. */
  fields(bytes: Uint8Array, names: readonly string[], into: (WireValue | undefined)[], budget: DecodeBudget): boolean {
    this.open(bytes, budget);
    try {
      const lead = this.end > 0 ? bytes[0]! : 0;
      // A map with a longer count is rare, and left to whoever reads all kinds of values.
      if (lead < 0x80 || lead >= 0x90) return false;
      this.position = 1;
      const count = lead & 0x0f;
      this.charge(count, 2, 1);
      let others: Set<string> | undefined;
      for (let index = 0; index < count; index += 1) {
        const key = this.key();
        const field = names.indexOf(key);
        if (field === -1) {
          others ??= new Set();
          if (others.has(key)) throw duplicateKey(this.position, key);
          others.add(key);
          this.value(1);
        } else {
          if (into[field] !== undefined) throw duplicateKey(this.position, key);
          into[field] = this.value(1);
        }
      }
      if (this.position !== this.end) throw trailing(this.position, this.end - this.position);
      return true;
    } finally {
      this.close();
    }
  }

  private open(bytes: Uint8Array, budget: DecodeBudget): void {
    if (bytes.length > budget.bytes) throw tooManyBytes(bytes.length, budget.bytes);
    this.source = bytes;
    this.position = 0;
    this.end = bytes.length;
    this.depthLimit = Math.min(budget.depth, DEPTH_CEILING);
    this.valueLimit = budget.values;
    this.valuesLeft = budget.values - 1;
    if (this.valuesLeft < 0) throw tooManyValues(0, budget.values);
  }

  /** The input must not live on until the next message comes. */
  private close(): void {
    this.source = NOTHING;
    this.buffer = undefined;
  }

  private value(depth: number): WireValue {
    const at = this.position;
    if (at >= this.end) throw truncated(at, 1, 0);
    const lead = this.source[at]!;
    this.position = at + 1;
    if (lead < 0x80) return lead;
    if (lead < 0x90) return this.map(lead & 0x0f, depth + 1);
    if (lead < 0xa0) return this.array(lead & 0x0f, depth + 1);
    if (lead < 0xc0) return this.text(lead & 0x1f);
    if (lead >= 0xe0) return lead - 0x100;
    switch (lead) {
      case 0xc0:
        return null;
      case 0xc1:
        throw neverUsed(at);
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
        return this.binary(this.u8());
      case 0xc5:
        return this.binary(this.u16());
      case 0xc6:
        return this.binary(this.u32());
      case 0xca:
        return this.f32();
      case 0xcb:
        return this.f64();
      case 0xcc:
        return this.u8();
      case 0xcd:
        return this.u16();
      case 0xce:
        return this.u32();
      case 0xcf:
        return this.u64();
      case 0xd0:
        return (this.u8() << 24) >> 24;
      case 0xd1:
        return (this.u16() << 16) >> 16;
      case 0xd2:
        return this.u32() | 0;
      case 0xd3:
        return this.i64();
      case 0xd9:
        return this.text(this.u8());
      case 0xda:
        return this.text(this.u16());
      case 0xdb:
        return this.text(this.u32());
      case 0xdc:
        return this.array(this.u16(), depth + 1);
      case 0xdd:
        return this.array(this.u32(), depth + 1);
      case 0xde:
        return this.map(this.u16(), depth + 1);
      case 0xdf:
        return this.map(this.u32(), depth + 1);
      default:
        throw extension(at, lead);
    }
  }

  /** Charges a container before anything is allocated for it. Every element takes at least `each` bytes of input. */
  private charge(count: number, each: number, depth: number): void {
    if (depth > this.depthLimit) throw tooDeep(this.position, this.depthLimit);
    const remaining = this.end - this.position;
    if (count * each > remaining) throw truncated(this.position, count * each, remaining);
    if (count > this.valuesLeft) throw tooManyValues(this.position, this.valueLimit);
    this.valuesLeft -= count;
  }

  private array(count: number, depth: number): WireValue[] {
    this.charge(count, 1, depth);
    const array: WireValue[] = [];
    for (let index = 0; index < count; index += 1) array.push(this.value(depth));
    return array;
  }

  private map(count: number, depth: number): WireMap {
    this.charge(count, 2, depth);
    const map: WireMap = {};
    for (let index = 0; index < count; index += 1) {
      const key = this.key();
      if (key in map) {
        this.define(map, key, depth);
      } else {
        map[key] = this.value(depth);
      }
    }
    return map;
  }

  /** Sets a key that the map has or inherits: twice is refused, and an inherited setter or constant is never asked. */
  private define(map: WireMap, key: string, depth: number): void {
    if (Object.hasOwn(map, key)) throw duplicateKey(this.position, key);
    const value = this.value(depth);
    Object.defineProperty(map, key, { value, writable: true, enumerable: true, configurable: true });
  }

  private key(): string {
    const at = this.position;
    if (at >= this.end) throw truncated(at, 1, 0);
    const lead = this.source[at]!;
    this.position = at + 1;
    let length: number;
    if (lead >= 0xa0 && lead < 0xc0) length = lead & 0x1f;
    else if (lead === 0xd9) length = this.u8();
    else if (lead === 0xda) length = this.u16();
    else if (lead === 0xdb) length = this.u32();
    else throw keyType(at);
    const start = this.position;
    if (length > this.end - start) throw truncated(start, length, this.end - start);
    const known = this.keys.read(this.source, start, start + length);
    if (known === undefined) return this.text(length);
    this.position = start + length;
    return known;
  }

  private text(length: number): string {
    const start = this.take(length);
    const end = start + length;
    const text =
      (length <= SHORT_TEXT_BYTES ? shortAscii(this.source, start, end) : undefined) ??
      decodeText(this.asBuffer(), start, end);
    if (text === undefined) throw badUtf8(start);
    return text;
  }

  private asBuffer(): Buffer {
    const { source } = this;
    this.buffer ??=
      source instanceof Buffer ? source : Buffer.from(source.buffer, source.byteOffset, source.byteLength);
    return this.buffer;
  }

  /** Copies a binary: a view would change when the buffer that was read into is used again. */
  private binary(length: number): Uint8Array {
    const start = this.take(length);
    const copy = new Uint8Array(length);
    if (length > LOOP_COPY_BYTES) copy.set(this.source.subarray(start, start + length));
    else for (let index = 0; index < length; index += 1) copy[index] = this.source[start + index]!;
    return copy;
  }

  /** Moves past this many bytes, which must be there, and says where they start. */
  private take(length: number): number {
    const start = this.position;
    if (length > this.end - start) throw truncated(start, length, this.end - start);
    this.position = start + length;
    return start;
  }

  private u8(): number {
    return this.source[this.take(1)]!;
  }

  private u16(): number {
    const at = this.take(2);
    return (this.source[at]! << 8) | this.source[at + 1]!;
  }

  private u32(): number {
    const at = this.take(4);
    const { source } = this;
    return ((source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8) | source[at + 3]!) >>> 0;
  }

  private u64(): number | bigint {
    this.expect(8);
    const high = this.u32();
    const low = this.u32();
    if (high < 0x20_0000) return high * TWO_32 + low;
    return (BigInt(high) << 32n) | BigInt(low);
  }

  private i64(): number | bigint {
    this.expect(8);
    const high = this.u32() | 0;
    const low = this.u32();
    const value = high * TWO_32 + low;
    // -2^53 itself is exact, but it is also what -2^53 - 1 rounds to.
    if (Number.isSafeInteger(value)) return value;
    return (BigInt(high) << 32n) | BigInt(low);
  }

  private f32(): number {
    const at = this.take(4);
    for (let index = 0; index < 4; index += 1) {
      floatBytes[littleEndian ? 3 - index : index] = this.source[at + index]!;
    }
    const value = float32[0]!;
    if (!Number.isFinite(value)) throw notFinite(at, value);
    return value;
  }

  private f64(): number {
    const at = this.take(8);
    for (let index = 0; index < 8; index += 1) {
      floatBytes[littleEndian ? 7 - index : index] = this.source[at + index]!;
    }
    const value = float64[0]!;
    if (!Number.isFinite(value)) throw notFinite(at, value);
    return value;
  }

  private expect(length: number): void {
    if (length > this.end - this.position) throw truncated(this.position, length, this.end - this.position);
  }
}

const decoder = new Decoder();

/** Decodes exactly one MessagePack value, strictly, within a budget. Throws a `SallyportError` for anything else. */
export function decodeMessagePack(bytes: Uint8Array, budget?: Partial<DecodeBudget>): WireValue {
  return decoder.decode(bytes, budget === undefined ? DEFAULT_BUDGET : completeBudget(budget));
}

/**
 * Decodes one MessagePack map into the places of its fields: what a protocol reads with every message, without an object of
 * changing shape in between. Says `false` for anything but a map of at most 15 fields, which `decodeMessagePack` then judges.
 * Absent fields stay as they are, so hand over places that are `undefined`.
 */
export function decodeFields(
  bytes: Uint8Array,
  names: readonly string[],
  into: (WireValue | undefined)[],
  budget: DecodeBudget,
): boolean {
  return decoder.fields(bytes, names, into, budget);
}

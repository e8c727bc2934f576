import { SallyportError } from '../../errors/index.js';
import { FRAME_HEADER_BYTES, FRAME_VERSION } from '../frames.js';
import { DEPTH_CEILING, MAX_DEPTH, MAX_FRAME_BYTES } from '../limits.js';
import { fitsIn64Bits, isPlainObject, isWellFormed, notSerializable } from './unserializable.js';

export interface EncodeOptions {
  /** Most arrays and maps inside each other. Default: 64, at most 512. */
  readonly depth?: number;
  /** Most bytes of output, without the frame header. Default: 16 MiB. It also stops a value that shares its parts and would explode. */
  readonly bytes?: number;
}

const SCRATCH_BYTES = 16 * 1024;
/** A scratch buffer that one large message has blown up is given back, so that it does not stay for good. */
const KEEP_SCRATCH_BYTES = 1024 * 1024;
/** Up to here a loop in JavaScript writes text faster than the call into the runtime. */
const INLINE_CHARACTERS = 64;
const TWO_32 = 0x1_0000_0000;

const floatBytes = new Uint8Array(8);
const float64 = new Float64Array(floatBytes.buffer);
const littleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1;

/** Ends the fast walk; the slow one then finds the path. */
class Unserializable extends Error {}

/** Writes one value at a time into a scratch buffer that is used again. */
class Encoder {
  private scratch = new Uint8Array(SCRATCH_BYTES);
  /** The same memory, with the methods of a `Buffer`. */
  private buffer = bufferOf(this.scratch);
  private position = 0;
  private depthLimit = 0;
  private byteLimit = 0;
  private start = 0;

  encode(value: unknown, options: EncodeOptions | undefined, start: number): Uint8Array {
    this.start = start;
    this.position = start;
    this.depthLimit = Math.min(options?.depth ?? MAX_DEPTH, DEPTH_CEILING);
    this.byteLimit = start + (options?.bytes ?? MAX_FRAME_BYTES);
    try {
      this.value(value, 0);
      if (this.position > this.byteLimit) throw this.tooLarge();
      return start === 0 ? this.scratch.slice(0, this.position) : this.frame();
    } catch (error) {
      if (error instanceof Unserializable) throw notSerializable(value, this.depthLimit, error.message);
      throw error;
    } finally {
      if (this.scratch.length > KEEP_SCRATCH_BYTES) this.use(new Uint8Array(SCRATCH_BYTES));
    }
  }

  /**
   * Fills in the header. A frame goes to a stream, so it comes from the pool of Node: a small array on the heap of V8 is made
   * faster, but moved out of it by whoever writes it.
   */
  private frame(): Uint8Array {
    this.scratch[0] = FRAME_VERSION;
    this.put32(1, this.position - FRAME_HEADER_BYTES);
    const frame = Buffer.allocUnsafe(this.position);
    this.buffer.copy(frame, 0, 0, this.position);
    return frame;
  }

  private value(value: unknown, depth: number): void {
    if (typeof value === 'string') this.text(value);
    else if (typeof value === 'number') this.number(value);
    else if (typeof value === 'boolean') this.byte(value ? 0xc3 : 0xc2);
    else if (value === null) this.byte(0xc0);
    else if (typeof value === 'bigint') this.bigint(value);
    else if (typeof value !== 'object') throw new Unserializable(`it is ${typeof value}`);
    else if (Array.isArray(value)) this.array(value, depth + 1);
    else if (value instanceof Uint8Array) this.binary(value);
    else if (isPlainObject(value)) this.map(value, depth + 1);
    else throw new Unserializable('it is an instance of a class');
  }

  private array(array: readonly unknown[], depth: number): void {
    if (depth > this.depthLimit) throw new Unserializable(`it is nested deeper than ${this.depthLimit}`);
    const { length } = array;
    this.reserve(5);
    if (length < 16) this.scratch[this.position++] = 0x90 | length;
    else this.count(0xdc, length);
    for (let index = 0; index < length; index += 1) {
      const element = array[index];
      // As in JSON: a place in an array cannot be dropped, so it becomes null.
      if (element === undefined) this.byte(0xc0);
      else this.value(element, depth);
    }
  }

  private map(map: object, depth: number): void {
    if (depth > this.depthLimit) throw new Unserializable(`it is nested deeper than ${this.depthLimit}`);
    const keys = Object.keys(map);
    const { length } = keys;
    this.reserve(5);
    const at = this.position;
    if (length < 16) this.scratch[this.position++] = 0x80 | length;
    else this.count(0xde, length);
    let dropped = 0;
    for (let index = 0; index < length; index += 1) {
      const key = keys[index]!;
      const property: unknown = Reflect.get(map, key);
      if (property === undefined) {
        dropped += 1;
        continue;
      }
      this.key(key);
      this.value(property, depth);
    }
    if (dropped > 0) this.recount(at, length - dropped);
  }

  /** Corrects the count of a map in place. Its width stays, as moving what follows would cost more than two bytes save. */
  private recount(at: number, count: number): void {
    const lead = this.scratch[at]!;
    if (lead === 0xdf) this.put32(at + 1, count);
    else if (lead === 0xde) this.put16(at + 1, count);
    else this.scratch[at] = 0x80 | count;
  }

  private key(key: string): void {
    const at = this.position;
    this.text(key);
    // Lone surrogates become U+FFFD in text, which could make two keys one. Only text that is not ASCII can have any.
    if (this.position - at > key.length + 1 && !isWellFormed(key)) {
      throw new Unserializable('its key has a lone surrogate');
    }
  }

  private text(text: string): void {
    if (text.length > INLINE_CHARACTERS || !this.shortText(text)) this.longText(text);
  }

  /** Writes ASCII; says `false`, with nothing written, when there is something else in it. */
  private shortText(text: string): boolean {
    const { length } = text;
    // Three bytes for each UTF-16 unit is the most that UTF-8 takes; a short text has a header of one or two bytes.
    this.reserve(2 + length * 3);
    const { scratch } = this;
    const at = this.position;
    const headerBytes = length < 32 ? 1 : 2;
    let to = at + headerBytes;
    for (let index = 0; index < length; index += 1) {
      const unit = text.charCodeAt(index);
      if (unit >= 0x80) return false;
      scratch[to++] = unit;
    }
    if (headerBytes === 1) {
      scratch[at] = 0xa0 | length;
    } else {
      scratch[at] = 0xd9;
      scratch[at + 1] = length;
    }
    this.position = to;
    return true;
  }

  private longText(text: string): void {
    // A UTF-16 unit takes at least one byte, so this refuses before a pass over a text that can never fit.
    if (this.position + text.length > this.byteLimit) throw this.tooLarge();
    const size = Buffer.byteLength(text);
    this.reserve(5 + size);
    if (size < 32) this.scratch[this.position++] = 0xa0 | size;
    else if (size < 0x100) {
      this.scratch[this.position++] = 0xd9;
      this.scratch[this.position++] = size;
    } else this.count(0xda, size);
    this.position += this.buffer.write(text, this.position, size, 'utf8');
  }

  private binary(bytes: Uint8Array): void {
    const size = bytes.length;
    this.reserve(5 + size);
    if (size < 0x100) {
      this.scratch[this.position++] = 0xc4;
      this.scratch[this.position++] = size;
    } else this.count(0xc5, size);
    this.scratch.set(bytes, this.position);
    this.position += size;
  }

  private number(value: number): void {
    this.reserve(9);
    if (Number.isSafeInteger(value) && !Object.is(value, -0)) this.integer(value);
    else if (Number.isFinite(value)) this.float(value);
    else throw new Unserializable(`it is ${value}`);
  }

  private float(value: number): void {
    const { scratch } = this;
    scratch[this.position] = 0xcb;
    float64[0] = value;
    for (let index = 0; index < 8; index += 1) {
      scratch[this.position + 1 + index] = floatBytes[littleEndian ? 7 - index : index]!;
    }
    this.position += 9;
  }

  /** Writes an integer in the fewest bytes; the room is reserved already. */
  private integer(value: number): void {
    const { scratch } = this;
    if (value >= 0) {
      if (value < 0x80) scratch[this.position++] = value;
      else if (value < 0x100) {
        scratch[this.position++] = 0xcc;
        scratch[this.position++] = value;
      } else if (value < 0x1_0000) this.lead16(0xcd, value);
      else if (value < TWO_32) this.lead32(0xce, value);
      else this.lead64(0xcf, Math.floor(value / TWO_32), value % TWO_32);
    } else if (value >= -0x20) scratch[this.position++] = value & 0xff;
    else if (value >= -0x80) {
      scratch[this.position++] = 0xd0;
      scratch[this.position++] = value & 0xff;
    } else if (value >= -0x8000) this.lead16(0xd1, value);
    else if (value >= -0x8000_0000) this.lead32(0xd2, value);
    else {
      const high = Math.floor(value / TWO_32);
      this.lead64(0xd3, high, value - high * TWO_32);
    }
  }

  private bigint(value: bigint): void {
    this.reserve(9);
    const number = Number(value);
    if (Number.isSafeInteger(number)) {
      this.integer(number);
      return;
    }
    if (!fitsIn64Bits(value)) throw new Unserializable('it is an integer of more than 64 bits');
    this.lead64(value < 0n ? 0xd3 : 0xcf, Number(BigInt.asUintN(32, value >> 32n)), Number(BigInt.asUintN(32, value)));
  }

  private byte(byte: number): void {
    this.reserve(1);
    this.scratch[this.position++] = byte;
  }

  /** Writes a count of 16 or 32 bits, whose lead bytes are neighbours in every family. */
  private count(lead16: number, count: number): void {
    if (count < 0x1_0000) this.lead16(lead16, count);
    else this.lead32(lead16 + 1, count);
  }

  private lead16(lead: number, value: number): void {
    this.scratch[this.position] = lead;
    this.put16(this.position + 1, value);
    this.position += 3;
  }

  private lead32(lead: number, value: number): void {
    this.scratch[this.position] = lead;
    this.put32(this.position + 1, value);
    this.position += 5;
  }

  private lead64(lead: number, high: number, low: number): void {
    this.scratch[this.position] = lead;
    this.put32(this.position + 1, high);
    this.put32(this.position + 5, low);
    this.position += 9;
  }

  private put16(at: number, value: number): void {
    this.scratch[at] = value >> 8;
    this.scratch[at + 1] = value;
  }

  private put32(at: number, value: number): void {
    const { scratch } = this;
    scratch[at] = value >>> 24;
    scratch[at + 1] = value >>> 16;
    scratch[at + 2] = value >>> 8;
    scratch[at + 3] = value;
  }

  private reserve(size: number): void {
    if (this.position + size > this.scratch.length) this.grow(this.position + size);
  }

  private grow(needed: number): void {
    // A reservation is an upper bound, so room for a little more than the limit must be there.
    if (needed > this.byteLimit + 5 + INLINE_CHARACTERS * 3) throw this.tooLarge();
    const larger = new Uint8Array(Math.max(needed, this.scratch.length * 2));
    larger.set(this.scratch.subarray(0, this.position));
    this.use(larger);
  }

  private use(scratch: Uint8Array<ArrayBuffer>): void {
    this.scratch = scratch;
    this.buffer = bufferOf(scratch);
  }

  private tooLarge(): SallyportError {
    const limit = this.byteLimit - this.start;
    return new SallyportError('WIRE_BUDGET_BYTES', `The encoded message is larger than the limit of ${limit} bytes`, {
      limit,
    });
  }
}

function bufferOf(bytes: Uint8Array<ArrayBuffer>): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

// A getter or proxy inside a value runs code while it is encoded, and that code may encode something itself: whoever
// finds the encoder taken makes another.
let idle: Encoder | undefined = new Encoder();

function run(value: unknown, options: EncodeOptions | undefined, start: number): Uint8Array {
  const encoder = idle ?? new Encoder();
  idle = undefined;
  try {
    return encoder.encode(value, options, start);
  } finally {
    idle = encoder;
  }
}

/** Encodes a value as MessagePack, with integers as short as they go and keys in the order they were inserted. */
export function encodeMessagePack(value: unknown, options?: EncodeOptions): Uint8Array {
  return run(value, options, 0);
}

/**
 * Encodes a value as one whole frame, header included, without another copy. It is meant for a stream: its memory may be
 * shared with other buffers of this process, so post `encodeMessagePack` to a worker instead.
 */
export function encodeFrame(value: unknown, options?: EncodeOptions): Uint8Array {
  return run(value, options, FRAME_HEADER_BYTES);
}

/**
 * Encodes JSON as MessagePack in the longest form that the format has for each value: 64-bit integers, lengths of 32 bits.
 * Encoders of some languages write nothing else, and a reader has to take it.
 */
export function encodeLong(value: unknown): Uint8Array {
  const parts: Buffer[] = [];
  write(value, parts);
  return Buffer.concat(parts);
}

function write(value: unknown, parts: Buffer[]): void {
  if (value === null || value === undefined) parts.push(Buffer.of(0xc0));
  else if (typeof value === 'boolean') parts.push(Buffer.of(value ? 0xc3 : 0xc2));
  else if (typeof value === 'number') parts.push(numberBytes(value));
  else if (typeof value === 'string') parts.push(sized(0xdb, Buffer.byteLength(value)), Buffer.from(value));
  else if (Array.isArray(value)) {
    parts.push(sized(0xdd, value.length));
    for (const item of value) write(item, parts);
  } else {
    const entries = Object.entries(Object(value));
    parts.push(sized(0xdf, entries.length));
    for (const [key, item] of entries) {
      write(key, parts);
      write(item, parts);
    }
  }
}

function numberBytes(value: number): Buffer {
  const bytes = Buffer.alloc(9);
  if (Number.isSafeInteger(value)) {
    bytes.writeUInt8(value < 0 ? 0xd3 : 0xcf);
    bytes.writeBigInt64BE(BigInt(value), 1);
  } else {
    bytes.writeUInt8(0xcb);
    bytes.writeDoubleBE(value, 1);
  }
  return bytes;
}

function sized(lead: number, size: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes.writeUInt8(lead);
  bytes.writeUInt32BE(size, 1);
  return bytes;
}

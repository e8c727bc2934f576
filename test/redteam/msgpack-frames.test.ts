import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { frameTransport } from '../../src/wire/frame-transport.js';
import { decodeMessagePack } from '../../src/wire/msgpack/decode.js';
import { encodeFrame } from '../../src/wire/msgpack/encode.js';
import type { WireValue } from '../../src/wire/msgpack/wire-value.js';
import type { CloseReason } from '../../src/wire/transport.js';

/** Sends hostile bytes through a whole transport, with the shortest of patience, and tells what became of it. */
async function attack(bytes: Uint8Array): Promise<{ reason: CloseReason; messages: WireValue[]; grown: number }> {
  const readable = new PassThrough();
  const writable = new PassThrough();
  const before = process.memoryUsage().arrayBuffers;
  const transport = frameTransport<WireValue, unknown>({
    readable,
    writable,
    decode: (payload) => decodeMessagePack(payload),
    encode: encodeFrame,
    limits: { frameTimeoutMs: 100 },
  });
  const messages: WireValue[] = [];
  transport.onMessage((message) => {
    messages.push(message);
  });
  const closed = new Promise<CloseReason>((resolve) => transport.onClose(resolve));
  readable.write(bytes);
  const reason = await closed;
  expect([readable.destroyed, writable.destroyed]).toEqual([true, true]);
  return { reason, messages, grown: process.memoryUsage().arrayBuffers - before };
}

function framed(payload: Uint8Array): Buffer {
  const header = Buffer.from([1, 0, 0, 0, 0]);
  header.writeUInt32BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}
const raw = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const inFrame = (hex: string): Buffer => framed(raw(hex));

function manyKeys(count: number): Buffer {
  const keys = Array.from({ length: count }, (_, index) => {
    const key = Buffer.from(`k${index}`);
    return Buffer.concat([Buffer.of(0xa0 | key.length), key, Buffer.of(0)]);
  });
  const header = Buffer.from([0xdf, 0, 0, 0, 0]);
  header.writeUInt32BE(count, 1);
  return framed(Buffer.concat([header, ...keys]));
}

describe('MessagePack frames end the session, with a stated reason, on', () => {
  it.each<[string, string, Buffer]>([
    ['M01 version 0', 'WIRE_FRAME_VERSION', raw('00 00000001 c0')],
    ['M01 version 2', 'WIRE_FRAME_VERSION', raw('02 00000001 c0')],
    ['M01 text instead of frames', 'WIRE_FRAME_VERSION', Buffer.from('Hello, world!\n')],
    ['M02 length 0', 'WIRE_FRAME_EMPTY', raw('01 00000000')],
    ['M02 length 0xFFFFFFFF', 'WIRE_FRAME_TOO_LARGE', raw('01 ffffffff')],
    ['M02 one byte over the limit', 'WIRE_FRAME_TOO_LARGE', raw('01 01000001')],
    ['M02 a short body, then silence', 'WIRE_FRAME_TIMEOUT', raw('01 01000000 c0')],
    ['M02 half a header, then silence', 'WIRE_FRAME_TIMEOUT', raw('01 00')],
    ['M03 two values in one frame', 'WIRE_TRAILING', inFrame('c0 c0')],
    ['M03 garbage behind the value', 'WIRE_TRAILING', inFrame('80 ff ff ff')],
    ['M04 an array header of 269 MB', 'WIRE_SYNTAX', inFrame('dd 01ffffff')],
    ['M05 a huge map header', 'WIRE_SYNTAX', inFrame('df ffffffff')],
    ['M05 a huge text header', 'WIRE_SYNTAX', inFrame('db ffffffff')],
    ['M05 a huge binary header', 'WIRE_SYNTAX', inFrame('c6 ffffffff')],
    ['M05 a huge extension header', 'WIRE_EXTENSION', inFrame('c9 ffffffff 01')],
    ['M06 a million levels', 'WIRE_BUDGET_DEPTH', framed(Buffer.alloc(1_000_000, 0x91))],
    ['M08 a timestamp', 'WIRE_EXTENSION', inFrame('c7 0c ff 000000007fffffffffffffff')],
    ['M08 a record', 'WIRE_EXTENSION', inFrame('d4 72 40')],
    ['M08 a structured clone', 'WIRE_EXTENSION', inFrame('d6 69 00000001')],
    ['M08 an unknown extension', 'WIRE_EXTENSION', inFrame('d4 2a 00')],
    ['M09 a number as key', 'WIRE_KEY_TYPE', inFrame('81 01 01')],
    ['M09 a key twice', 'WIRE_DUPLICATE_KEY', inFrame('82 a161 01 a161 02')],
    ['M09 a million keys', 'WIRE_BUDGET_VALUES', manyKeys(1_000_000)],
    ['M11 NaN', 'WIRE_NUMBER', inFrame('cb 7ff8000000000000')],
    ['M11 infinity of 32 bits', 'WIRE_NUMBER', inFrame('ca 7f800000')],
  ])('%s', async (_, code, bytes) => {
    const { reason, messages, grown } = await attack(bytes);
    expect(reason).toMatchObject({ kind: 'error', error: { code } });
    expect(messages).toEqual([]);
    expect(grown).toBeLessThan(64 * 1024 * 1024);
  });

  it('M09 nothing, when keys are called __proto__, constructor or prototype: they are own properties', async () => {
    const names = ['__proto__', 'constructor', 'prototype'];
    const hostile = Object.fromEntries(names.map((name) => [name, { polluted: true }]));
    // A bad version byte behind it ends the session; the message before that is delivered as it is.
    const { messages } = await attack(Buffer.concat([encodeFrame(hostile), raw('00')]));
    expect(Object.keys(messages[0] ?? {})).toEqual(names);
    expect(Object.getPrototypeOf(messages[0])).toBe(Object.prototype);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it('M11 nothing, when integers exceed 2^53 or floats have 32 bits: both arrive exactly', async () => {
    const bytes = Buffer.concat([inFrame('cf 0020000000000001'), inFrame('ca 3dcccccd'), raw('00')]);
    const { messages } = await attack(bytes);
    expect(messages).toEqual([2n ** 53n + 1n, Math.fround(0.1)]);
  });
});

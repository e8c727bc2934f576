import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSallyportError, type SallyportError } from '../../src/errors/index.js';
import { FrameDecoder } from '../../src/wire/frames.js';
import { cpuMs } from '../cpu-time.js';

function frame(payload: Uint8Array): Buffer {
  const header = Buffer.alloc(5);
  header[0] = 1;
  header.writeUInt32BE(payload.length, 1);
  return Buffer.concat([header, payload]);
}

function collect(decoder: FrameDecoder, ...chunks: Uint8Array[]): Buffer[] {
  const payloads: Buffer[] = [];
  for (const chunk of chunks) decoder.push(chunk, (payload) => payloads.push(Buffer.from(payload)));
  return payloads;
}

function refusal(run: () => unknown): SallyportError {
  try {
    run();
  } catch (error) {
    if (isSallyportError(error)) return error;
    throw error;
  }
  throw new Error('It was accepted');
}

describe('FrameDecoder', () => {
  it('finds the same frames however the bytes are split', () => {
    const payloads = fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 8 });
    fc.assert(
      fc.property(payloads, fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (expected, sizes) => {
        const stream = Buffer.concat(expected.map(frame));
        const chunks: Buffer[] = [];
        for (let at = 0, turn = 0; at < stream.length; turn += 1) {
          const size = sizes[turn % sizes.length]!;
          chunks.push(Buffer.from(stream.subarray(at, at + size)));
          at += size;
        }
        const decoder = new FrameDecoder();
        const found = collect(decoder, ...chunks);
        expect(found.map((payload) => payload.toString('hex'))).toEqual(
          expected.map((payload) => Buffer.from(payload).toString('hex')),
        );
        expect(decoder.pending).toBe(false);
        expect(decoder.completed).toBe(expected.length);
        decoder.end();
      }),
      { numRuns: 500 },
    );
  });

  it.each([0, 2, 0x7b, 255])('refuses a frame that starts with %i on that byte', (version) => {
    const error = refusal(() => collect(new FrameDecoder(), Uint8Array.of(version)));
    expect(error.code).toBe('WIRE_FRAME_VERSION');
    expect(error.facts['version']).toBe(version);
  });

  it('refuses an empty frame', () => {
    expect(refusal(() => collect(new FrameDecoder(), Buffer.from('0100000000', 'hex'))).code).toBe('WIRE_FRAME_EMPTY');
  });

  it.each(['01ffffffff', '0101000001'])('refuses %s on the header, before there is a body', (header) => {
    const error = refusal(() => collect(new FrameDecoder(), Buffer.from(header, 'hex')));
    expect(error.code).toBe('WIRE_FRAME_TOO_LARGE');
    expect(error.facts['limit']).toBe(16 * 1024 * 1024);
  });

  it('accepts a frame of exactly the limit and refuses one byte more', () => {
    expect(collect(new FrameDecoder({ maxFrameBytes: 10 }), frame(Buffer.alloc(10, 7)))).toEqual([Buffer.alloc(10, 7)]);
    const error = refusal(() => collect(new FrameDecoder({ maxFrameBytes: 10 }), frame(Buffer.alloc(11))));
    expect(error.facts).toEqual({ size: 11, limit: 10 });
  });

  it('hands out the frames before a bad one, and fails in the same way ever after', () => {
    const decoder = new FrameDecoder();
    const payloads: number[] = [];
    const stream = Buffer.concat([frame(Buffer.of(1)), frame(Buffer.of(2)), Buffer.from('noise')]);
    const first = refusal(() => decoder.push(stream, (payload) => payloads.push(payload[0]!)));
    expect(payloads).toEqual([1, 2]);
    expect(refusal(() => collect(decoder, frame(Buffer.of(3))))).toBe(first);
    expect(refusal(() => decoder.end())).toBe(first);
  });

  it('says whether a frame is pending, and refuses an end in the middle of one', () => {
    const whole = frame(Buffer.from('abc'));
    for (let length = 1; length < whole.length; length += 1) {
      const decoder = new FrameDecoder();
      expect(collect(decoder, whole.subarray(0, length))).toEqual([]);
      expect(decoder.pending).toBe(true);
      const error = refusal(() => decoder.end());
      expect(error.code).toBe('WIRE_FRAME_TRUNCATED');
      expect(error.facts['received']).toBe(length);
    }
  });

  it('allocates for what has arrived, not for what is announced', () => {
    const before = process.memoryUsage().arrayBuffers;
    const decoders = Array.from({ length: 200 }, () => {
      const decoder = new FrameDecoder();
      collect(decoder, Buffer.from('0101000000aa', 'hex'));
      return decoder;
    });
    // 200 announcements of 16 MiB each would be 3.2 GB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
    expect(decoders.every((decoder) => decoder.pending)).toBe(true);
  });

  it('leaves a payload alone once it is handed out', () => {
    const decoder = new FrameDecoder();
    const kept: Uint8Array[] = [];
    for (let index = 0; index < 50; index += 1) {
      const bytes = frame(Buffer.alloc(1000, index));
      decoder.push(bytes.subarray(0, 400), (payload) => kept.push(payload));
      decoder.push(bytes.subarray(400), (payload) => kept.push(payload));
    }
    expect(kept.map((payload) => payload.every((byte, _, all) => byte === all[0]) && payload[0])).toEqual([
      ...kept.keys(),
    ]);
  });

  it('reads a frame of 32 MB in small pieces in linear time', () => {
    const size = 32 * 1024 * 1024;
    const decoder = new FrameDecoder({ maxFrameBytes: size });
    const header = Buffer.from([1, 0, 0, 0, 0]);
    header.writeUInt32BE(size, 1);
    const chunk = Buffer.alloc(4096, 9);
    const started = cpuMs();
    let received = 0;
    decoder.push(header, () => {});
    for (let at = 0; at < size; at += chunk.length) {
      decoder.push(chunk, (payload) => {
        received += payload.length;
      });
    }
    expect(received).toBe(size);
    // A few dozen milliseconds; copying everything per piece would take minutes.
    expect(cpuMs() - started).toBeLessThan(15_000);
  });
});

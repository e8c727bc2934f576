import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isSallyportError } from '../../src/errors/index.js';
import { LineDecoder } from '../../src/wire/lines.js';
import { splitAt } from './splits.js';

function decode(chunks: Uint8Array[], limit?: number): string[] {
  const lines: string[] = [];
  const decoder = new LineDecoder(limit);
  // Copies, because a transport may reuse its read buffer only after a line was taken.
  const emit = (line: Uint8Array): void => {
    lines.push(Buffer.from(line).toString());
  };
  for (const chunk of chunks) decoder.push(chunk, emit);
  decoder.end(emit);
  return lines;
}

describe('LineDecoder', () => {
  it('gives the same lines for any split of the bytes', () => {
    const line = fc
      .string({ unit: 'binary' })
      .filter((text) => !/[\r\n]/.test(text) && text.trim() !== '' && text.isWellFormed());
    fc.assert(
      fc.property(
        fc.array(line),
        fc.constantFrom('\n', '\r\n'),
        fc.array(fc.nat()),
        fc.boolean(),
        (lines, end, cuts, last) => {
          const text = lines.join(end) + (last ? end : '');
          expect(decode(splitAt(Buffer.from(text), cuts))).toEqual(lines);
        },
      ),
    );
  });

  it('skips blank lines and takes a last line without an end', () => {
    expect(decode([Buffer.from('\n\r\n  \t\na\n\n\nb')])).toEqual(['a', 'b']);
  });

  it('keeps a character whole whose bytes come in different chunks', () => {
    const bytes = Buffer.from('{"k":"héllo 🌍"}\n');
    expect(decode([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(['{"k":"héllo 🌍"}']);
  });

  it('refuses a line beyond the limit while it arrives', () => {
    const decoder = new LineDecoder(10);
    const emit = (): void => expect.unreachable();
    decoder.push(Buffer.alloc(10, 'x'), emit);
    try {
      decoder.push(Buffer.from('x'), emit);
      expect.unreachable();
    } catch (error) {
      expect(isSallyportError(error, 'WIRE_FRAME_TOO_LARGE')).toBe(true);
    }
    expect(decode([Buffer.from('0123456789\n0123456789')], 10)).toHaveLength(2);
  });

  it('takes time in proportion to the size of a line that comes in many pieces', () => {
    const decoder = new LineDecoder();
    const piece = Buffer.alloc(16, 'x');
    let size = 0;
    for (let count = 0; count < 200_000; count += 1) decoder.push(piece, () => expect.unreachable());
    decoder.push(Buffer.from('\n'), (line) => {
      size = line.byteLength;
    });
    expect(size).toBe(3_200_000);
    expect(decoder.pending).toBe(false);
  });

  it('costs little more than its bytes when a line comes one byte at a time', () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage: () => void = runInNewContext('gc');
    const used = (): number => {
      collectGarbage();
      const { heapUsed, arrayBuffers } = process.memoryUsage();
      return heapUsed + arrayBuffers;
    };
    const decoder = new LineDecoder();
    const before = used();
    for (let index = 0; index < 200_000; index += 1) decoder.push(Buffer.from('x'), () => {});
    expect(used() - before).toBeLessThan(5_000_000);
    const lines: number[] = [];
    decoder.push(Buffer.from('\n'), (line) => lines.push(line.byteLength));
    expect(lines).toEqual([200_000]);
  });
});

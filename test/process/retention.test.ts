import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Retention } from '../../src/process/retention.js';

describe('what is kept of output', () => {
  it('is always the newest whole chunks that fit, in order, with every gap reported', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 40 }), { maxLength: 300 }),
        fc.integer({ min: 1, max: 200 }),
        fc.integer({ min: 0, max: 310 }),
        fc.integer({ min: 0, max: 100 }),
        (sizes, limit, afterSeq, maxBytes) => {
          const retention = new Retention({ maxBytes: limit, maxChunks: 1_000 });
          for (const [index, size] of sizes.entries()) {
            retention.push({ seq: index + 1, stream: 'stdout', bytes: Buffer.alloc(size) });
          }
          let bytes = 0;
          let oldest = sizes.length + 1;
          while (oldest > 1 && bytes + sizes[oldest - 2]! <= limit) {
            bytes += sizes[oldest - 2]!;
            oldest -= 1;
          }
          expect(retention.bytes).toBe(bytes);
          const slice = retention.after(afterSeq, maxBytes);
          const from = Math.max(afterSeq + 1, oldest);
          const seqs = slice.chunks.map(({ seq }) => seq);
          expect(seqs).toEqual(seqs.map((_, index) => from + index));
          if (from <= sizes.length) expect(seqs.length).toBeGreaterThan(0);
          const total = slice.chunks.reduce((sum, chunk) => sum + chunk.bytes.length, 0);
          if (seqs.length > 1) expect(total).toBeLessThanOrEqual(maxBytes);
          expect(slice.partial).toBe(seqs.length > 0 && seqs.at(-1)! < sizes.length);
          expect(slice.firstSeq !== undefined).toBe(oldest - 1 > afterSeq);
        },
      ),
    );
  });

  it('can be given up', () => {
    const retention = new Retention({ maxBytes: 100, maxChunks: 1_000 });
    retention.push({ seq: 1, stream: 'pty', bytes: Buffer.alloc(5) });
    retention.clear();
    expect(retention.bytes).toBe(0);
    expect(retention.after(0, 100)).toEqual({ chunks: [], partial: false, firstSeq: 2 });
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeOutput, notificationOf } from '../../src/process/encode-event.js';

describe('a line of output', () => {
  it('says the same as the notification, whatever the name and the bytes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.uint8Array({ maxLength: 300 }),
        fc.constantFrom('first', 'later'),
        fc.constantFrom('stdout', 'stderr', 'pty'),
        fc.nat(),
        (processId, bytes, dialect, stream, seq) => {
          const event = { type: 'output', processId, seq, stream, bytes: Buffer.from(bytes) } as const;
          const { line } = encodeOutput(event, dialect);
          expect(line.at(-1)).toBe(10);
          expect(line.subarray(0, -1).includes(10)).toBe(false);
          expect(line.every((byte) => byte < 128)).toBe(true);
          expect(JSON.parse(Buffer.from(line).toString())).toEqual(notificationOf(event, dialect));
        },
      ),
    );
  });
});

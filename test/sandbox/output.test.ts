import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { DRAIN_BYTES } from '../../src/sandbox/limits.js';
import { StreamOutput } from '../../src/sandbox/output.js';

test('is drained when as much was read as the kernel can have held, though others write on', async () => {
  const endless = new Readable({
    read() {
      setImmediate(() => this.push(Buffer.alloc(64 * 1024)));
    },
  });
  const output = new StreamOutput('stdout', endless);
  let bytes = 0;
  output.onData((chunk) => {
    bytes += chunk.length;
  });
  await output.drained();
  expect(bytes).toBeGreaterThanOrEqual(DRAIN_BYTES);
  output.destroy();
  await output.ended;
});

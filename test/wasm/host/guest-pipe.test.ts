import { describe, expect, it } from 'vitest';
import type { InputStream, OutputStream } from '../../../src/sandbox/index.js';
import { GuestPipe } from '../../../src/wasm/host/guest-pipe.js';
import { completeLimits } from '../../../src/wasm/limits.js';
import { functionCall, functionResponse } from '../../../src/wasm/messages.js';
import { encodeFrame } from '../../../src/wire/index.js';

/** A pipe whose far side is this test: what it says is handed over, and each write is kept as it came. */
function pipe() {
  const writes: Buffer[] = [];
  const input: InputStream = {
    write: async (bytes) => void writes.push(Buffer.from(bytes)),
    writeNow: (bytes) => void writes.push(Buffer.from(bytes)),
    end: async () => {},
  };
  let say: (chunk: Buffer) => void = () => {};
  const output: OutputStream = {
    name: 'stdout',
    onData: (consumer) => {
      say = consumer;
    },
    discard: () => {},
    pause: () => {},
    resume: () => {},
    ended: new Promise(() => {}),
  };
  const guest = new GuestPipe(input, output, completeLimits({}));
  return { guest, writes, say: (chunk: Buffer) => say(chunk) };
}

const calls = Buffer.concat(['g0', 'g1', 'g2'].map((id) => encodeFrame(functionCall(id, 'add', [1, 2]))));
const answers = Buffer.concat(['g0', 'g1', 'g2'].map((id) => encodeFrame(functionResponse(id, 3))));

describe('what a guest is sent', () => {
  it('leaves in one write when it answers what came in one chunk, in the same turn', async () => {
    const { guest, writes, say } = pipe();
    guest.onMessage(({ message }) => void guest.send(functionResponse(message.id, 3)));
    await Promise.resolve();
    say(calls);
    expect(writes).toEqual([answers]);
  });

  it('leaves in one write when it is sent in one turn', async () => {
    const { guest, writes } = pipe();
    for (const id of ['g0', 'g1', 'g2']) void guest.send(functionResponse(id, 3));
    expect(writes).toEqual([]);
    await Promise.resolve();
    expect(writes).toEqual([answers]);
  });

  it('leaves when later bytes of the same chunk are no message', async () => {
    const { guest, writes, say } = pipe();
    guest.onMessage(({ message }) => void guest.send(functionResponse(message.id, 3)));
    const closed = new Promise((resolve) => guest.onClose(resolve));
    await Promise.resolve();
    say(Buffer.concat([calls, Buffer.from([9, 0, 0, 0, 1, 0])]));
    expect(await closed).toMatchObject({ kind: 'error' });
    expect(writes).toEqual([answers]);
  });
});

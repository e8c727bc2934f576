import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { PipeInput } from '../../src/sandbox/input.js';
import { INPUT_WRITE_BYTES } from '../../src/sandbox/limits.js';

/** A pipe whose far end takes what it gets when it is told to. */
function slowPipe() {
  const taken: (() => void)[] = [];
  const pipe = new Writable({ write: (_bytes, _encoding, done) => taken.push(done) });
  return { pipe, takeOne: () => taken.shift()?.() };
}

const promptPipe = (): Writable => new Writable({ write: (_bytes, _encoding, done) => done() });

test('a write that is taken at once costs no promise', () => {
  const input = new PipeInput(promptPipe(), 100);
  expect(input.writeNow(Buffer.from('abc'))).toBeUndefined();
});

test('a write that has to wait resolves when everything before it is taken', async () => {
  const { pipe, takeOne } = slowPipe();
  const input = new PipeInput(pipe, 1_000);
  let done = false;
  const first = input.writeNow(Buffer.from('abc'));
  const second = Promise.resolve(input.writeNow(Buffer.from('def'))).then(() => {
    done = true;
  });
  expect(first).toBeInstanceOf(Promise);
  takeOne();
  await new Promise((resolve) => setImmediate(resolve));
  expect(done).toBe(false);
  takeOne();
  await Promise.all([first, second]);
});

test('a write beyond the queue is refused, and one to a closed pipe as well', async () => {
  const { pipe } = slowPipe();
  const input = new PipeInput(pipe, 4);
  void input.writeNow(Buffer.from('abc'));
  await expect(input.writeNow(Buffer.from('de'))).rejects.toMatchObject({ code: 'SPAWN_INPUT_BACKLOG' });
  pipe.destroy();
  await expect(input.writeNow(Buffer.from('d'))).rejects.toMatchObject({ code: 'SPAWN_INPUT_CLOSED' });
});

test('a pipe that breaks fails what waits for it', async () => {
  const pipe = new Writable({ write: (_bytes, _encoding, done) => setImmediate(() => done(new Error('EPIPE'))) });
  const input = new PipeInput(pipe, 100);
  await expect(input.writeNow(Buffer.from('abc'))).rejects.toMatchObject({ code: 'SPAWN_INPUT_CLOSED' });
});

test('writes that wait take up room themselves, also those without bytes', async () => {
  for (const write of ['write', 'writeNow'] as const) {
    const { pipe } = slowPipe();
    const input = new PipeInput(pipe, 100 * INPUT_WRITE_BYTES);
    let refused = 0;
    const count = (error: { code: string }): void => {
      if (error.code === 'SPAWN_INPUT_BACKLOG') refused += 1;
    };
    for (let index = 0; index < 200; index += 1) {
      Promise.resolve(input[write](new Uint8Array(index === 0 ? 1 : 0))).catch(count);
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(refused).toBeGreaterThan(90);
  }
});

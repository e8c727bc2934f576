import { onTestFinished } from 'vitest';
import { createSpawner } from '../../src/sandbox/index.js';
import { loadWasm, type RawGuestEnd } from '../../src/wasm/index.js';
import { decodeMessagePack, encodeFrame, FrameDecoder, type WireValue } from '../../src/wire/index.js';

/** A guest without a host: the test says every byte, and hears every message. */
export interface HandDriven {
  readonly heard: readonly WireValue[];
  readonly ended: Promise<RawGuestEnd>;
  send(...frames: (object | Uint8Array)[]): Promise<void>;
  /** The next message that was not taken yet, or `undefined` when the guest ends before. */
  next(): Promise<WireValue | undefined>;
  end(): Promise<void>;
}

/** Starts a guest that is ended with the test. */
export async function driveByHand(file: string): Promise<HandDriven> {
  const spawner = createSpawner();
  const guest = await (await loadWasm(file)).start(spawner);
  onTestFinished(async () => {
    await guest[Symbol.asyncDispose]();
    await spawner.dispose();
  });
  const heard: WireValue[] = [];
  let taken = 0;
  let wake = (): void => {};
  const decoder = new FrameDecoder();
  guest.output.onData((chunk) => {
    decoder.push(chunk, (payload) => heard.push(decodeMessagePack(payload)));
    wake();
  });
  let gone = false;
  void guest.ended.then(() => {
    gone = true;
    wake();
  });
  return {
    heard,
    ended: guest.ended,
    async send(...frames) {
      const bytes = frames.map((one) => (one instanceof Uint8Array ? one : encodeFrame(one)));
      await guest.input.write(Buffer.concat(bytes));
    },
    async next() {
      while (taken === heard.length && !gone) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      taken += 1;
      return heard[taken - 1];
    },
    end: () => guest.input.end(),
  };
}

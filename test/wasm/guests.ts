import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import type { AnyFunctions } from '../../src/wasm/index.js';
import { type OpenWasmOptions, openWasm, type WasmClient, type WasmEvent } from '../../src/wasm/index.js';

const guest = (path: string): string => fileURLToPath(new URL(`../../examples/wasm/${path}`, import.meta.url));

export const C_GUEST = guest('c/guest.wasm');
export const NONBLOCKING_GUEST = guest('c/nonblocking.wasm');
export const MISBEHAVE = guest('c/misbehave.wasm');
export const ZIG_GUEST = guest('zig/guest.wasm');
export const ASSEMBLYSCRIPT_GUEST = guest('assemblyscript/guest.wasm');
export const RUST_GUEST = guest('rust/guest.wasm');
export const GO_GUEST = guest('go/guest.wasm');

type Options = OpenWasmOptions<AnyFunctions, Record<string, unknown>, Record<string, unknown>>;

/** Opens a guest that is disposed with the test, and keeps its events. */
export async function open(
  source: string | Uint8Array,
  options: Options = {},
  // A test that runs beside others has to bring its own.
  finished: (dispose: () => Promise<void>) => void = onTestFinished,
): Promise<{ readonly client: WasmClient<AnyFunctions>; readonly events: WasmEvent[] }> {
  const events: WasmEvent[] = [];
  const client = await openWasm(source, { ...options, onEvent: (event) => events.push(event) });
  finished(() => client.dispose());
  return { client, events };
}

/** What a promise rejects with. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`expected a failure, got ${String(value)}`);
    },
    (error: unknown) => error,
  );
}

export async function collect<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of iterable) items.push(item);
  return items;
}

export async function* from<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}

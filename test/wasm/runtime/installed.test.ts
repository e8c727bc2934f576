import { describe, expect, it } from 'vitest';
import { DEFAULT_SEARCH_PATH, findProgram } from '../../../src/sandbox/index.js';
import { createSink, openWasm } from '../../../src/wasm/index.js';
import {
  ASSEMBLYSCRIPT_GUEST,
  C_GUEST,
  collect,
  failure,
  from,
  GO_GUEST,
  MISBEHAVE,
  open,
  RUST_GUEST,
  ZIG_GUEST,
} from '../guests.js';

const path = process.env['PATH'] ?? DEFAULT_SEARCH_PATH;

const RUNTIMES = ['wasmtime', 'wazero'] as const;
const isInstalled = (runtime: string): boolean => findProgram(runtime, path, '/').ok;

describe.each(RUNTIMES.filter((runtime) => !isInstalled(runtime)))('%s, which is not installed', (runtime) => {
  it('is refused by name', async () => {
    expect(await failure(openWasm(C_GUEST, { runtime }))).toMatchObject({
      code: 'WASM_RUNTIME_UNAVAILABLE',
      message: expect.stringContaining(runtime),
    });
  });
});

describe.each(RUNTIMES.filter(isInstalled))('%s, as it is installed', (runtime) => {
  it.each([
    ['C', C_GUEST],
    ['Zig', ZIG_GUEST],
    ['AssemblyScript', ASSEMBLYSCRIPT_GUEST],
    ['Rust', RUST_GUEST],
    ['Go', GO_GUEST],
  ])('runs a guest in %s', async (_language, file) => {
    const grant = { upper: (text: unknown) => String(text).toUpperCase() };
    const { client } = await open(file, { runtime, grant, timeoutMs: 60_000 });
    const { add, callHost, produce, consume, sleep } = client.call;
    expect(await add?.([1, 2])).toBe(3);
    expect(await callHost?.({ name: 'upper', params: 'abc' })).toBe('ABC');
    const stream = createSink();
    const [chunks, count] = await Promise.all([collect(stream), produce?.({ stream, count: 30, size: 16 })]);
    expect([chunks.length, count]).toEqual([30, 30]);
    expect(await consume?.({ stream: from([1, 2, 3.5]) })).toEqual([3, 6.5]);
    expect(await sleep?.(30)).toBe(1);
    expect(client.runtime.name).toBe(runtime);
  });

  it('ends a guest for the same causes, and the next call works', async () => {
    const { client } = await open(MISBEHAVE, { runtime, timeoutMs: 60_000 });
    const fails = (how: string, timeoutMs = 60_000): Promise<unknown> =>
      failure(client.call['misbehave']?.(how, { timeoutMs }) ?? Promise.resolve());
    expect(await fails('exit')).toMatchObject({ code: 'WASM_EXITED', facts: { exitCode: 3 } });
    expect(await fails('trap')).toMatchObject({ code: 'WASM_EXITED' });
    expect(await fails('version')).toMatchObject({ code: 'WASM_FRAME_VERSION' });
    expect(await fails('text')).toMatchObject({ code: 'WASM_OUTPUT_NOT_PROTOCOL' });
    expect(await fails('loop', 2_000)).toMatchObject({ code: 'WASM_TIMEOUT' });
    expect(await client.call['add']?.([1, 2])).toBe(3);
  });
});

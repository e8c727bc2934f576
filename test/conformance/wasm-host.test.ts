import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { judged, SUITE_TIMEOUT_MS } from './passes.js';

const host = (name: string, ...flags: string[]) =>
  ({
    kind: 'command',
    argv: [process.execPath, fileURLToPath(new URL(`./hosts/${name}.mjs`, import.meta.url)), ...flags],
    env: {},
  }) as const;

describe('hosts', { timeout: SUITE_TIMEOUT_MS }, () => {
  it('of Sallyport pass all checks', async () => {
    expect(await judged('wasm-host', host('sallyport'), { jobs: 3 })).toEqual({ failures: [], skipped: [] });
  });

  it('of Sallyport pass them when they grant functions by name', async () => {
    const only = ['wasm-host.callbacks', 'wasm-host.failures.not-granted', 'wasm-host.failures.expired-callback'];
    const found = await judged('wasm-host', host('sallyport', '--grants'), { jobs: 3, only });
    expect(found).toEqual({ failures: [], skipped: [] });
  });

  it('of the published package do what the documentation says of them', async () => {
    const only = ['wasm-host.frames', 'wasm-host.calls', 'wasm-host.callbacks', 'wasm-host.streams'];
    const { failures, skipped } = await judged('wasm-host', host('duplex-rpc'), { only, jobs: 3 });
    // The program dies of a frame of another version; whether that shows as a rejection depends on who is first.
    const ids = failures.map(([id]) => id).filter((id) => id !== 'wasm-host.frames.version-rejected');
    expect(ids).toEqual([
      'wasm-host.calls.any-objects',
      'wasm-host.callbacks.forgotten-result',
      'wasm-host.callbacks.forgotten-error',
      'wasm-host.streams.receive-calls',
      'wasm-host.streams.unique-ids',
    ]);
    expect(skipped).toEqual(['wasm-host.calls.forgotten']);
  });
});

import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../src/conformance/index.js';
import { C_MODULES, start } from '../server/start.js';
import { judged, SUITE_TIMEOUT_MS } from './passes.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const command = (...argv: string[]): Target => ({ kind: 'command', argv: [process.execPath, ...argv], env: {} });
const jobs = 3;

describe('guests pass all checks', { timeout: SUITE_TIMEOUT_MS }, () => {
  it('in JavaScript, on a pipe', async () => {
    const target = command(at('./guests/serve-duplex.mjs'));
    expect(await judged('wasm', target, { jobs })).toEqual({ failures: [], skipped: [] });
  });

  it('in C, as a process', async () => {
    const target = command(at('./guests/module.mjs'), at('../../examples/wasm/c/guest.wasm'));
    expect(await judged('wasm', target, { jobs })).toEqual({ failures: [], skipped: [] });
  });

  it.each(['zig', 'assemblyscript', 'rust'])('in %s, which run one function at a time', async (language) => {
    // Behind the server a guest costs no Node of its own around the one that runs it.
    const { url } = await start({ isolation: 'process', wasmDir: at(`../../examples/wasm/${language}`) });
    const target: Target = { kind: 'url', url: `${url.replace('http', 'ws')}/wasm/guest` };
    expect(await judged('wasm', target, { jobs })).toEqual({ failures: [], skipped: ['wasm.callbacks.reversed'] });
  });

  it.each(['process', 'auto'] as const)('behind WS /wasm/guest of the server, at the level %s', async (isolation) => {
    const { url } = await start({ isolation, wasmDir: C_MODULES });
    const target: Target = { kind: 'url', url: `${url.replace('http', 'ws')}/wasm/guest` };
    expect(await judged('wasm', target, { jobs })).toEqual({ failures: [], skipped: [] });
  });
});

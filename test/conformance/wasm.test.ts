import { fileURLToPath } from 'node:url';
import { describe, it } from 'vitest';
import { expectToPass } from './passes.js';

const at = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const command = (...argv: string[]) => ({ kind: 'command', argv: [process.execPath, ...argv], env: {} }) as const;
const LIMIT_MS = 240_000;

describe('the suite wasm', () => {
  it('passes the guest side of JavaScript', { timeout: LIMIT_MS }, () =>
    expectToPass('wasm', command(at('./guests/serve-duplex.mjs'))),
  );

  it.each(['c/guest', 'c/nonblocking'])('passes the guest %s', { timeout: LIMIT_MS }, (name) =>
    expectToPass('wasm', command(at('./guests/module.mjs'), at(`../../examples/wasm/${name}.wasm`))),
  );

  it.each(['zig', 'assemblyscript', 'rust'])(
    'passes the guest in %s, which runs one function at a time',
    { timeout: LIMIT_MS },
    (language) =>
      expectToPass('wasm', command(at('./guests/module.mjs'), at(`../../examples/wasm/${language}/guest.wasm`)), {
        skips: ['wasm.callbacks.reversed'],
      }),
  );
});

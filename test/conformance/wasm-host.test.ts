import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { runSuite } from '../../src/conformance/index.js';
import { expectToPass } from './passes.js';

const host = (name: string, ...flags: string[]) =>
  ({
    kind: 'command',
    argv: [process.execPath, fileURLToPath(new URL(`./hosts/${name}.mjs`, import.meta.url)), ...flags],
    env: {},
  }) as const;
const LIMIT_MS = 240_000;

describe('the suite wasm-host', () => {
  it('passes the client of Sallyport', { timeout: LIMIT_MS }, () => expectToPass('wasm-host', host('sallyport')));

  it('passes the client of Sallyport when it grants functions by name', { timeout: LIMIT_MS }, () =>
    expectToPass('wasm-host', host('sallyport', '--grants'), {
      only: ['wasm-host.callbacks', 'wasm-host.failures.not-granted', 'wasm-host.failures.expired-callback'],
    }),
  );

  it('says of the published client, version 0.1.1, what the documentation says of it', {
    timeout: LIMIT_MS,
  }, async () => {
    const only = ['wasm-host.frames', 'wasm-host.calls', 'wasm-host.callbacks', 'wasm-host.streams'];
    const { outcomes } = await runSuite('wasm-host', host('duplex-rpc'), { only, limitMs: 20_000, jobs: 3 });
    const of = (status: string) =>
      outcomes.filter(({ verdict }) => verdict.status === status).map(({ check }) => check.id);
    expect(of('failed')).toEqual([
      'wasm-host.frames.version-rejected',
      'wasm-host.calls.any-objects',
      'wasm-host.callbacks.forgotten-result',
      'wasm-host.callbacks.forgotten-error',
      'wasm-host.streams.receive-calls',
      'wasm-host.streams.unique-ids',
    ]);
    expect(of('skipped')).toEqual(['wasm-host.calls.forgotten']);
  });
});

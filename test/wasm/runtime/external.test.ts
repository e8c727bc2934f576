import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openWasm } from '../../../src/wasm/index.js';
import { C_GUEST, failure } from '../guests.js';

const RUNNER = fileURLToPath(new URL('../../../src/wasm/runtime/runner.cjs', import.meta.url));

let folder = '';
let path: string | undefined;
let temporary: string | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sallyport-fake-'));
  path = process.env['PATH'];
  process.env['PATH'] = `${folder}:${path ?? ''}`;
  // A folder of its own for scratch: what others leave in the common one is theirs.
  temporary = process.env['TMPDIR'];
  process.env['TMPDIR'] = folder;
});

afterEach(() => {
  process.env['PATH'] = path;
  if (temporary === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = temporary;
  rmSync(folder, { recursive: true, force: true });
});

/** A stand-in that notes its arguments, refuses options it does not know, and runs the module with our own runner. */
function fake(name: string, version: string, unknown: string[] = []): () => string[] {
  const log = join(folder, `${name}.log`);
  const cases = unknown
    .map((option) => `*${option}*) echo "error: unexpected argument '${option}'" >&2; exit 2 ;;`)
    .join('\n');
  const script = `#!/bin/sh
echo "$*" >>'${log}'
case "$*" in
--version|version) echo '${version}'; exit 0 ;;
${cases}
esac
for file; do :; done
exec '${process.execPath}' '${RUNNER}' 3<"$file"
`;
  writeFileSync(join(folder, name), script);
  chmodSync(join(folder, name), 0o755);
  return () => readFileSync(log, 'utf8').trim().split('\n');
}

const scratch = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('sallyport-wasm-'));

describe('wasmtime', () => {
  it('is run with its limits before the module, and reported', async () => {
    const log = fake('wasmtime', 'wasmtime 27.0.0 (8eefa236f 2024-11-20)');
    const before = scratch();
    const client = await openWasm(C_GUEST, { runtime: 'wasmtime', limits: { memoryBytes: 64 * 1024 * 1024 } });
    expect(client.runtime).toMatchObject({
      name: 'wasmtime',
      version: '27.0.0',
      enforces: {
        memory: '67108864 bytes, by wasmtime',
        tables: expect.stringContaining('by wasmtime'),
        environment: 'empty',
      },
    });
    expect(await client.call['add']?.([1, 2])).toBe(3);
    expect(log().at(-1)).toMatch(
      /^run -W max-memory-size=67108864 -W max-table-elements=\d+ -S inherit-network=n \S+guest\.wasm$/,
    );
    await client.dispose();
    expect(scratch()).toEqual(before);
  });

  it('is run with fewer options when its version does not know all of them', async () => {
    const log = fake('wasmtime', 'wasmtime-cli 14.0.4', ['max-table-elements', 'inherit-network']);
    const client = await openWasm(C_GUEST, { runtime: 'wasmtime' });
    expect(client.runtime.enforces.tables).toContain('not enforced');
    expect(await client.call['add']?.([1, 2])).toBe(3);
    expect(log().at(-1)).toMatch(/^run -W max-memory-size=\d+ \S+guest\.wasm$/);
    await client.dispose();
  });

  it('is refused when it is too old, does not take a memory limit, or is not there', async () => {
    fake('wasmtime', 'wasmtime-cli 13.0.1');
    expect(await failure(openWasm(C_GUEST, { runtime: 'wasmtime' }))).toMatchObject({
      code: 'WASM_RUNTIME_UNAVAILABLE',
      message: expect.stringContaining('13.0.1 is older than 14'),
    });
    fake('wasmtime', 'wasmtime-cli 20.0.0', ['max-memory-size']);
    expect(await failure(openWasm(C_GUEST, { runtime: 'wasmtime' }))).toMatchObject({
      message: expect.stringContaining('unexpected argument'),
    });
    process.env['PATH'] = '/nowhere';
    expect(await failure(openWasm(C_GUEST, { runtime: 'wasmtime' }))).toMatchObject({
      message: expect.stringContaining('not on PATH'),
    });
  });
});

describe('wazero', () => {
  it('is run with a cache of its own and a limit on its process', async () => {
    const log = fake('wazero', '1.8.2');
    const client = await openWasm(C_GUEST, { runtime: 'wazero' });
    expect(client.runtime).toMatchObject({
      name: 'wazero',
      version: '1.8.2',
      enforces: {
        memory: 'by the limit of the process only',
        processMemory: expect.stringMatching(/by the kernel|not enforced/),
      },
    });
    expect(await client.call['add']?.([1, 2])).toBe(3);
    expect(log().at(-1)).toMatch(/^run -cachedir \S+cache \S+guest\.wasm$/);
    await client.dispose();
  });
});

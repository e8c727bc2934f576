import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { inspectWasm, validateWasm } from '../../../src/wasm/index.js';
import { branchTable, manyFunctions } from '../bombs.js';
import { ASSEMBLYSCRIPT_GUEST, C_GUEST, failure, GO_GUEST, RUST_GUEST, ZIG_GUEST } from '../guests.js';
import { LOOP, start } from '../wasm-bytes.js';

describe('validateWasm', () => {
  it.each([C_GUEST, ZIG_GUEST, ASSEMBLYSCRIPT_GUEST, RUST_GUEST, GO_GUEST])('says that %s runs', async (path) => {
    expect(await validateWasm(path)).toEqual(inspectWasm(readFileSync(path)));
  });

  it.each<[string, Uint8Array, RegExp]>([
    ['a function that is invalid', start({ code: [0x1a] }), /fails to compile: .*function #0/],
    ['an opcode that does not exist', start({ code: [0xff] }), /fails to compile/],
    ['a br_table that V8 does not take', branchTable(1_000_000), /fails to compile: .*br_table/],
    ['an import that WASI has not', start({ import: ['wasi_snapshot_preview1', 'fd_levitate'] }), /fd_levitate/],
  ])('says that a module with %s does not run, though its edges are in order', async (_name, bytes, message) => {
    expect(inspectWasm(bytes).runs).toBe(true);
    const report = await validateWasm(bytes);
    expect(report).toMatchObject({ runs: false, problems: [{ code: 'WASM_START_FAILED' }] });
    expect(report.problems[0]?.message).toMatch(message);
  });

  it('runs nothing of the module', async () => {
    expect(await validateWasm(start({ code: LOOP, runAtStart: true }))).toMatchObject({ runs: true });
  });

  it('gives up on a module that takes too long to compile', async () => {
    const report = await validateWasm(manyFunctions(1_000_000), { limits: { startTimeoutMs: 50 } });
    expect(report).toMatchObject({ runs: false, problems: [{ code: 'WASM_START_TIMEOUT' }] });
  });

  it('starts no process for a module whose edges are wrong', async () => {
    const report = await validateWasm(start({ import: ['env', 'system'] }), { level: 'no such level' });
    expect(report.problems).toMatchObject([{ code: 'WASM_MODULE_IMPORTS' }]);
  });

  it('says which file cannot be read', async () => {
    expect(await failure(validateWasm('/nowhere.wasm'))).toMatchObject({ code: 'WASM_MODULE_UNREADABLE' });
  });
});

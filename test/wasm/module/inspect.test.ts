import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { inspectWasm, openWasm } from '../../../src/wasm/index.js';
import { C_GUEST, failure } from '../guests.js';
import { section, start, wasm } from '../wasm-bytes.js';

const guest = readFileSync(C_GUEST);
const code = (bytes: Uint8Array, limits = {}): string | undefined => inspectWasm(bytes, limits).problems[0]?.code;

describe('inspecting a module', () => {
  it('lists what a good one imports, exports and needs', () => {
    const report = inspectWasm(guest);
    expect(report).toMatchObject({ kind: 'core', runs: true, problems: [], size: guest.length, startFunction: false });
    expect(report.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(report.imports.every(({ module }) => module === 'wasi_snapshot_preview1')).toBe(true);
    expect(report.exports).toContainEqual({ name: '_start', kind: 'function' });
    expect(report.memory?.initial).toBeGreaterThan(0);
  });

  it.each<[string, Uint8Array, string, RegExp]>([
    ['an empty file', new Uint8Array(0), 'WASM_MODULE_INVALID', /empty/],
    ['a file of four bytes', guest.subarray(0, 4), 'WASM_MODULE_INVALID', /only 4 bytes/],
    ['plain text', Buffer.from('#!/bin/sh\necho hello\n'), 'WASM_MODULE_INVALID', /starts with the bytes 23212f62/],
    ['a gzip file', gzipSync(guest), 'WASM_MODULE_INVALID', /gzip/],
    ['a zip file', Buffer.from('PK\x03\x04 and so on'), 'WASM_MODULE_INVALID', /zip/],
    [
      'a precompiled artefact',
      Buffer.from('\x7fELF\x02\x01\x01\x00 and so on', 'latin1'),
      'WASM_MODULE_INVALID',
      /native code/,
    ],
    ['the text format', Buffer.from('(module (func))'), 'WASM_MODULE_INVALID', /text format/],
    ['another version', Buffer.from('0061736d02000000', 'hex'), 'WASM_MODULE_INVALID', /version is 2/],
    ['a component', Buffer.from('0061736d0d000100', 'hex'), 'WASM_MODULE_COMPONENT', /component/],
    ['a module cut in half', guest.subarray(0, 2_000), 'WASM_MODULE_INVALID', /damaged/],
    ['a section longer than the file', wasm([1, 0xff, 0xff, 0xff, 0xff, 0x0f]), 'WASM_MODULE_INVALID', /damaged/],
    ['a million imports in five bytes', wasm(section(2, [0xc0, 0x84, 0x3d])), 'WASM_MODULE_INVALID', /cannot fit/],
    ['nothing in it', wasm(), 'WASM_MODULE_START', /_start/],
    ['4 GiB of initial memory', start({ pages: 65_536 }), 'WASM_MODULE_MEMORY', /4294967296 bytes/],
    ['64-bit memory', wasm(section(5, [1, 4, 1])), 'WASM_MODULE_INVALID', /64-bit/],
    ['a table of ten million', start({ table: 10_000_000 }), 'WASM_MODULE_MEMORY', /10000000 table elements/],
    ['foreign imports', start({ import: ['env', 'system'] }), 'WASM_MODULE_IMPORTS', /env\.system \(function\)/],
    ['imports with escapes in their names', start({ import: ['\x1b[31m', 'x'] }), 'WASM_MODULE_IMPORTS', /\\u001b/],
  ])('refuses %s', (_name, bytes, expected, message) => {
    const report = inspectWasm(bytes);
    expect(report.runs).toBe(false);
    expect(report.problems[0]).toMatchObject({ code: expected, message: expect.stringMatching(message) });
  });

  it('refuses a module over the size limit without reading it', () => {
    expect(code(guest, { moduleBytes: 1_000 })).toBe('WASM_MODULE_TOO_LARGE');
  });

  it('tells a reactor what it is', () => {
    expect(inspectWasm(start({ name: '_initialize' })).problems[0]?.message).toMatch(/reactor/);
  });
});

describe('opening a module', () => {
  it('runs the one that is pinned and refuses any other', async () => {
    const { sha256 } = inspectWasm(guest);
    await using client = await openWasm(guest, { sha256: sha256.toUpperCase() });
    expect(client.module.sha256).toBe(sha256);
    expect(await failure(openWasm(guest, { sha256: '0'.repeat(64) }))).toMatchObject({ code: 'WASM_MODULE_HASH' });
  });

  it('says which file cannot be read', async () => {
    expect(await failure(openWasm('/nowhere/guest.wasm'))).toMatchObject({
      code: 'WASM_MODULE_UNREADABLE',
      message: expect.stringContaining('/nowhere/guest.wasm'),
    });
  });
});

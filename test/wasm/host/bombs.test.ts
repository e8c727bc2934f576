import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { confiningSpawner } from '../../../dist/sandbox/index.js';
import { openWasm, wasmRoomPolicy } from '../../../dist/wasm/index.js';
import { here } from '../../sandbox/container/rooms.js';
import { familyOf } from '../../sandbox/helpers.js';
import {
  branchTable,
  branchTables,
  customSections,
  growAndFill,
  growingTables,
  largeSegment,
  longName,
  manyExports,
  manyFunctions,
  manyImports,
  manyLocals,
  manyMemories,
  manySegments,
  memories,
  muchCode,
  nestedBlocks,
  repeatedExports,
} from '../bombs.js';
import { C_GUEST, failure } from '../guests.js';
import { LOOP, start } from '../wasm-bytes.js';

const MIB = 1024 * 1024;
/** More than any of them takes, unless the machine is very busy. */
const PATIENCE_MS = 30_000;
/** What one guest may cost: its memory, the runtime, and what compiling takes. */
const MOST_RESIDENT = 1_280 * MIB;

/** The most memory that a process has had so far, or nothing when it is gone. */
function peak(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

interface Outcome {
  readonly error: unknown;
  /** Milliseconds of processor time that this process spent until the module was opened or refused. */
  readonly hostMs: number;
  readonly resident: number;
}

/** Opens a module and calls it; watches what it costs on both sides. */
async function explode(
  bytes: Uint8Array,
  options: { readonly level?: string; readonly timeoutMs?: number } = {},
): Promise<Outcome> {
  const before = process.cpuUsage();
  const opened = await openWasm(bytes, {
    timeoutMs: PATIENCE_MS,
    ...options,
    limits: { memoryBytes: 32 * MIB, startTimeoutMs: PATIENCE_MS },
  }).catch((error: unknown) => ({ error }));
  const { user, system } = process.cpuUsage(before);
  const hostMs = (user + system) / 1_000;
  if ('error' in opened) return { error: opened.error, hostMs, resident: 0 };
  let resident = 0;
  const watch = setInterval(() => {
    for (const pid of opened.pids.flatMap(familyOf)) resident = Math.max(resident, peak(pid));
  }, 10);
  const error = await failure(opened.call['add']?.([1, 2]) ?? Promise.resolve());
  clearInterval(watch);
  await opened.dispose();
  return { error, hostMs, resident };
}

/** It starts and has nothing to say, or it takes longer than it may. */
const HARMLESS = /^WASM_(EXITED|START_TIMEOUT|TIMEOUT)$/;
const NOT_COMPILED = /^WASM_(START_FAILED|START_TIMEOUT)$/;
const REFUSED = /^WASM_MODULE_INVALID$/;

describe('a module that is small to send and large to deal with', () => {
  it.for<[string, () => Uint8Array, RegExp, RegExp]>([
    ['a br_table with a million targets', () => branchTable(1_000_000), NOT_COMPILED, /br_table/],
    ['a hundred large br_tables', () => branchTables(100, 65_000), HARMLESS, /./],
    ['a million functions', () => manyFunctions(1_000_000), HARMLESS, /./],
    ['a million and one functions', () => manyFunctions(1_000_001), NOT_COMPILED, /functions count|compile|ready/],
    ['fifty thousand locals', () => manyLocals(50_000), HARMLESS, /./],
    ['four billion locals', () => manyLocals(4_294_967_295), NOT_COMPILED, /local count/],
    ['blocks nested half a million deep', () => nestedBlocks(500_000), /^WASM_/, /./],
    ['four million instructions', () => muchCode(200, 20_000), HARMLESS, /./],
    ['a million imports', () => manyImports(1_000_000), REFUSED, /1000000 imports, over the limit of 10000/],
    ['a million exports', () => repeatedExports(1_000_000), REFUSED, /1000000 exports, over the limit of 10000/],
    ['nine thousand imports', () => manyImports(9_000), HARMLESS, /./],
    ['nine thousand exports', () => manyExports(9_000), HARMLESS, /./],
    ['a million data segments', () => manySegments(1_000_000), NOT_COMPILED, /data segments|ready/],
    ['a data segment beyond its memory', () => largeSegment(40_000_000), NOT_COMPILED, /out of bounds|ready/],
    ['one custom section of 60 MB', () => customSections(1, 60_000_000), HARMLESS, /./],
    ['a million custom sections', () => customSections(1_000_000, 1), HARMLESS, /./],
    ['a name of 30 MB', () => longName(30_000_000), REFUSED, /a name has 30000000 bytes/],
    ['ten million memories', () => manyMemories(10_000_000), REFUSED, /10000000 memories, over the limit of 1/],
    ['two memories', () => memories([0, 1], [0, 1]), REFUSED, /2 memories/],
    ['shared memory', () => memories([3, 1, 2]), REFUSED, /shared memory/],
    ['64-bit memory', () => memories([4, 1]), REFUSED, /64-bit memory/],
    ['pages of one byte', () => memories([8, 1, 0]), REFUSED, /pages of its own size/],
    ['tables that grow without end', () => growingTables(200), /^WASM_(EXITED|TRAPPED|TIMEOUT)$/, /./],
  ])('%s: one clear error, within bounds', async ([, make, code, message]) => {
    const { error, hostMs, resident } = await explode(make());
    expect(error).toMatchObject({
      code: expect.stringMatching(code),
      message: expect.stringMatching(message),
    });
    expect(String(error).length).toBeLessThan(1_000);
    expect(hostMs).toBeLessThan(10_000);
    expect(resident).toBeLessThan(MOST_RESIDENT);
  });

  it('memory that grows without end: stays at its limit until its time is up', async () => {
    const { error, resident } = await explode(growAndFill(), { timeoutMs: 1_500 });
    expect(error).toMatchObject({ code: 'WASM_TIMEOUT' });
    expect(resident).toBeLessThan(MOST_RESIDENT);
  });

  it('leaves the host as it was: the next module runs', async () => {
    await using client = await openWasm(C_GUEST);
    expect(await client.call['add']?.([1, 2])).toBe(3);
  });
});

describe.runIf(here.available)('such a module at the level container', () => {
  it.for<[string, () => Uint8Array, RegExp]>([
    ['a start function that loops', () => start({ code: LOOP, runAtStart: true }), /^WASM_(START_TIMEOUT|TIMEOUT)$/],
    ['memory that grows without end', () => growAndFill(), /^WASM_TIMEOUT$/],
    ['a million functions', () => manyFunctions(1_000_000), HARMLESS],
  ])('%s: ended within bounds', async ([, make, code]) => {
    const { error, resident } = await explode(make(), { level: 'container', timeoutMs: 3_000 });
    expect(error).toMatchObject({ code: expect.stringMatching(code) });
    expect(resident).toBeLessThan(MOST_RESIDENT);
  });

  it('memory that grows beyond what the kernel gives ends it, though V8 would go on', async () => {
    const policy = wasmRoomPolicy();
    await using spawner = confiningSpawner({ ...policy, limits: { ...policy.limits, memoryBytes: 256 * MIB } });
    await using client = await openWasm(growAndFill(), {
      level: 'container',
      spawner,
      timeoutMs: PATIENCE_MS,
      limits: { memoryBytes: 1_024 * MIB },
    });
    const error = await failure(client.call['add']?.([1, 2]) ?? Promise.resolve());
    expect(error).toMatchObject({ code: expect.stringMatching(/^WASM_(EXITED|TRAPPED)$/), facts: { killed: false } });
  });
});

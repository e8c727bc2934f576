/** Modules that are small to send and large to deal with. Buffers all the way: some have a million entries. */

import { uint as leb128 } from './wasm-bytes.js';

const uint = (value: number): Buffer => Buffer.from(leb128(value));
const raw = (...bytes: number[]): Buffer => Buffer.from(bytes);
const name = (text: string): Buffer => Buffer.concat([uint(Buffer.byteLength(text)), Buffer.from(text)]);
const section = (id: number, ...parts: Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([raw(id), uint(body.length), body]);
};
/** A count and as many entries, made of one pattern or by a function. */
const list = (count: number, entry: Buffer | ((index: number) => Buffer)): Buffer =>
  Buffer.concat([
    uint(count),
    typeof entry === 'function'
      ? Buffer.concat(Array.from({ length: count }, (_, index) => entry(index)))
      : Buffer.alloc(count * entry.length, entry),
  ]);
const body = (...code: Buffer[]): Buffer => {
  const bytes = Buffer.concat(code);
  return Buffer.concat([uint(bytes.length), bytes]);
};

const EMPTY_BODY = body(raw(0, 0x0b));
const EDGES = [name('memory'), raw(2, 0), name('_start'), raw(0, 0)];

interface Parts {
  readonly imports?: Buffer;
  readonly functions?: Buffer;
  readonly tables?: Buffer;
  readonly memory?: Buffer;
  readonly exports?: Buffer;
  readonly bodies?: Buffer;
  /** Whole sections, behind all others. */
  readonly tail?: Buffer;
  readonly head?: Buffer;
}

/** A command whose parts can be replaced. */
function command(parts: Parts): Uint8Array {
  return Buffer.concat([
    Buffer.from('0061736d01000000', 'hex'),
    parts.head ?? raw(),
    section(1, raw(1, 0x60, 0, 0)),
    parts.imports === undefined ? raw() : section(2, parts.imports),
    section(3, parts.functions ?? raw(1, 0)),
    parts.tables === undefined ? raw() : section(4, parts.tables),
    section(5, parts.memory ?? raw(1, 0, 1)),
    section(7, parts.exports ?? Buffer.concat([raw(2), ...EDGES])),
    section(10, parts.bodies ?? Buffer.concat([raw(1), EMPTY_BODY])),
    parts.tail ?? raw(),
  ]);
}

const oneBody = (...code: Buffer[]): Buffer => Buffer.concat([raw(1), body(...code)]);
const branches = (count: number): Buffer[] => [raw(0, 0x41, 0, 0x0e), list(count, raw(0)), raw(0, 0x0b)];

/** `br_table` with this many targets. */
export const branchTable = (count: number): Uint8Array => command({ bodies: oneBody(...branches(count)) });

/** Many functions, each with a large `br_table`: the code grows far beyond the module. */
export const branchTables = (functions: number, targets: number): Uint8Array =>
  command({
    functions: list(functions, raw(0)),
    bodies: Buffer.concat([uint(functions), ...Array.from({ length: functions }, () => body(...branches(targets)))]),
  });

/** Functions that do nothing. */
export const manyFunctions = (count: number): Uint8Array =>
  command({ functions: list(count, raw(0)), bodies: list(count, EMPTY_BODY) });

/** One function with this many locals. */
export const manyLocals = (count: number): Uint8Array =>
  command({ bodies: oneBody(raw(1), uint(count), raw(0x7f, 0x0b)) });

/** One function whose blocks are nested this deep. */
export const nestedBlocks = (depth: number): Uint8Array =>
  command({ bodies: oneBody(raw(0), Buffer.alloc(depth * 2, raw(0x02, 0x40)), Buffer.alloc(depth, 0x0b), raw(0x0b)) });

/** Functions of straight code: much to compile, nothing to run. */
export const muchCode = (functions: number, instructions: number): Uint8Array =>
  command({
    functions: list(functions, raw(0)),
    bodies: list(
      functions,
      body(raw(1, 1, 0x7f), Buffer.alloc(instructions * 7, raw(0x20, 0, 0x41, 1, 0x6a, 0x21, 0)), raw(0x0b)),
    ),
  });

/** Imports of one function of WASI, again and again. */
export const manyImports = (count: number): Uint8Array =>
  command({
    imports: list(count, Buffer.concat([name('wasi_snapshot_preview1'), name('sched_yield'), raw(0, 0)])),
  });

/** Exports of `_start` under many names. */
export const manyExports = (count: number): Uint8Array =>
  command({
    exports: Buffer.concat([
      uint(count + 2),
      ...EDGES,
      ...Array.from({ length: count }, (_, index) => Buffer.concat([name(index.toString(36)), raw(0, 0)])),
    ]),
  });

/** Exports of `_start` under one name, again and again. */
export const repeatedExports = (count: number): Uint8Array =>
  command({ exports: list(count, Buffer.concat([name('x'), raw(0, 0)])) });

/** Data segments of one byte each. */
export const manySegments = (count: number): Uint8Array =>
  command({ tail: section(11, list(count, raw(0, 0x41, 0, 0x0b, 1, 7))) });

/** One data segment that is larger than the memory. */
export const largeSegment = (size: number): Uint8Array =>
  command({ tail: section(11, raw(1, 0, 0x41, 0, 0x0b), uint(size), Buffer.alloc(size)) });

/** Custom sections. */
export const customSections = (count: number, size: number): Uint8Array =>
  command({
    head: Buffer.alloc(
      count * section(0, name('x'), Buffer.alloc(size)).length,
      section(0, name('x'), Buffer.alloc(size)),
    ),
  });

/** A name that is longer than any program needs. */
export const longName = (length: number): Uint8Array =>
  command({ exports: Buffer.concat([raw(3), ...EDGES, name('x'.repeat(length)), raw(0, 0)]) });

/** Memories as the section has them: flags and sizes. */
export const memories = (...entries: (readonly number[])[]): Uint8Array =>
  command({ memory: Buffer.concat([uint(entries.length), ...entries.map((entry) => raw(...entry))]) });

/** This many memories of no pages. */
export const manyMemories = (count: number): Uint8Array => command({ memory: list(count, raw(0, 0)) });

/** Grows this many tables without end: memory that is not linear memory. */
export const growingTables = (count: number): Uint8Array => {
  const grow = (table: number): Buffer =>
    Buffer.concat([raw(0xd0, 0x70, 0x41, 0x90, 0xce, 0x00, 0xfc, 0x0f), uint(table), raw(0x1a)]);
  return command({
    tables: list(count, raw(0x70, 0, 0)),
    bodies: oneBody(
      raw(0, 0x03, 0x40),
      ...Array.from({ length: count }, (_, index) => grow(index)),
      raw(0x0c, 0, 0x0b, 0x0b),
    ),
  });
};

/** A command that grows its memory by 4 MiB and fills them, for ever. */
export const growAndFill = (): Uint8Array => {
  const page = [0x41, 0xc0, 0x00, 0x40, 0x00, 0x22, 0x00]; // page = memory.grow(64)
  const got = [0x41, 0x7f, 0x47, 0x04, 0x40]; // if (page != -1)
  const fill = [0x20, 0x00, 0x41, 0x10, 0x74, 0x41, 0x01, 0x41, 0x80, 0x80, 0x80, 0x02, 0xfc, 0x0b, 0x00, 0x0b]; // memory.fill
  const loop = raw(0x03, 0x40, ...page, ...got, ...fill, 0x0c, 0x00, 0x0b);
  return command({ bodies: oneBody(raw(1, 1, 0x7f), loop, raw(0x0b)) });
};

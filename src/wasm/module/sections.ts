import { MAX_MODULE_NAME_BYTES } from '../limits.js';

/** A module that does not follow the binary format. */
export class Malformed extends Error {}

/** A module that follows the format and asks for more than any runtime here gives. */
export class Unsupported extends Error {}

export interface WasmImport {
  readonly module: string;
  readonly name: string;
  readonly kind: string;
}

export interface WasmExport {
  readonly name: string;
  readonly kind: string;
}

/** Pages of a memory, or elements of a table. */
export interface SizeRange {
  readonly initial: number;
  readonly maximum: number | undefined;
}

/** What the sections of a module say about its edges. */
export interface Sections {
  readonly imports: readonly WasmImport[];
  readonly exports: readonly WasmExport[];
  readonly memories: readonly SizeRange[];
  readonly tables: readonly SizeRange[];
  readonly functions: number;
  readonly startFunction: boolean;
}

const HEADER_BYTES = 8;
const SECTION = { custom: 0, import: 2, function: 3, table: 4, memory: 5, export: 7, start: 8 } as const;
const KINDS = ['function', 'table', 'memory', 'global', 'tag'] as const;
const FLAG_MAXIMUM = 1;
const FLAG_SHARED = 2;
const FLAG_64_BIT = 4;
const FLAG_PAGE_SIZE = 8;
const EXPLICIT_INITIALISER = 0x40;

const text = new TextDecoder('utf-8', { fatal: true });

/** Reads bytes forwards and never beyond their end. */
class Reader {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  at: number;

  constructor(bytes: Uint8Array, at: number, end: number) {
    this.#bytes = bytes;
    this.at = at;
    this.#end = end;
  }

  get done(): boolean {
    return this.at >= this.#end;
  }

  byte(): number {
    const byte = this.#bytes[this.at];
    if (byte === undefined || this.done) throw new Malformed(`it ends at byte ${this.at}, in the middle of something`);
    this.at += 1;
    return byte;
  }

  /** An unsigned integer of up to 64 bits; beyond 2^53 it only has to be large. */
  uint(): number {
    let value = 0;
    let scale = 1;
    for (let index = 0; index < 10; index += 1) {
      const byte = this.byte();
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
    throw new Malformed(`the number at byte ${this.at} is too long`);
  }

  /** How many entries follow: each takes at least one byte. */
  count(): number {
    const count = this.uint();
    if (count > this.#end - this.at) throw new Malformed(`${count} entries cannot fit behind byte ${this.at}`);
    return count;
  }

  /** The same for entries that each become an object here. */
  entries(most: number, what: string): number {
    const count = this.count();
    if (count > most) throw new Unsupported(`it has ${count} ${what}, over the limit of ${most}`);
    return count;
  }

  part(length: number): Reader {
    if (length > this.#end - this.at) throw new Malformed(`${length} bytes are missing behind byte ${this.at}`);
    const part = new Reader(this.#bytes, this.at, this.at + length);
    this.at += length;
    return part;
  }

  name(): string {
    const length = this.uint();
    const { at } = this;
    this.part(length);
    if (length > MAX_MODULE_NAME_BYTES) {
      throw new Unsupported(`a name has ${length} bytes, over the limit of ${MAX_MODULE_NAME_BYTES}`);
    }
    try {
      return text.decode(this.#bytes.subarray(at, at + length));
    } catch {
      throw new Malformed(`the name at byte ${at} is not UTF-8`);
    }
  }

  range(): SizeRange {
    const flags = this.byte();
    if ((flags & FLAG_64_BIT) !== 0) throw new Unsupported('it uses 64-bit memory, which no runtime here grants');
    if ((flags & FLAG_SHARED) !== 0)
      throw new Unsupported('it uses shared memory (threads), which no runtime here grants');
    if ((flags & FLAG_PAGE_SIZE) !== 0)
      throw new Unsupported('it uses pages of its own size, which no runtime here grants');
    const initial = this.uint();
    return { initial, maximum: (flags & FLAG_MAXIMUM) === 0 ? undefined : this.uint() };
  }

  /** Skips the type of a reference or value: one byte, or a heap type behind a prefix. */
  valueType(): void {
    const lead = this.byte();
    if (lead === 0x63 || lead === 0x64) this.uint();
  }
}

/** Sections whose entries are read, and what these are. */
const READ: ReadonlyMap<number, string> = new Map([
  [SECTION.import, 'imports'],
  [SECTION.table, 'tables'],
  [SECTION.memory, 'memories'],
  [SECTION.export, 'exports'],
]);

/** Reads the sections of a core module, by their headers and edges only. Throws `Malformed` or `Unsupported`. */
export function readSections(bytes: Uint8Array, most: number): Sections {
  const imports: WasmImport[] = [];
  const exports: WasmExport[] = [];
  const memories: SizeRange[] = [];
  const tables: SizeRange[] = [];
  let functions = 0;
  let startFunction = false;
  const seen = new Set<number>();
  const reader = new Reader(bytes, HEADER_BYTES, bytes.length);
  while (!reader.done) {
    const id = reader.byte();
    const section = reader.part(reader.uint());
    if (id === SECTION.custom) continue;
    if (seen.has(id)) throw new Malformed(`section ${id} comes twice`);
    seen.add(id);
    if (id === SECTION.start) startFunction = true;
    if (id === SECTION.function) functions = section.count();
    const what = READ.get(id);
    if (what === undefined) continue;
    for (let left = section.entries(id === SECTION.memory ? 1 : most, what); left > 0; left -= 1) {
      if (id === SECTION.import) imports.push(readImport(section));
      else if (id === SECTION.memory) memories.push(section.range());
      else if (id === SECTION.export) exports.push(readExport(section));
      else {
        const table = readTable(section);
        tables.push(table.range);
        // What follows is an expression, which only a compiler reads; the rest of the section is its business.
        if (table.hasInitialiser) break;
      }
    }
  }
  return { imports, exports, memories, tables, functions, startFunction };
}

function readImport(reader: Reader): WasmImport {
  const module = reader.name();
  const name = reader.name();
  const kind = reader.byte();
  if (kind === 0) reader.uint();
  else if (kind === 1) {
    reader.valueType();
    reader.range();
  } else if (kind === 2) reader.range();
  else if (kind === 3) {
    reader.valueType();
    reader.byte();
  } else {
    reader.byte();
    reader.uint();
  }
  return { module, name, kind: KINDS[kind] ?? `kind ${kind}` };
}

function readExport(reader: Reader): WasmExport {
  const name = reader.name();
  const kind = reader.byte();
  reader.uint();
  return { name, kind: KINDS[kind] ?? `kind ${kind}` };
}

function readTable(reader: Reader): { readonly range: SizeRange; readonly hasInitialiser: boolean } {
  const { at } = reader;
  const hasInitialiser = reader.byte() === EXPLICIT_INITIALISER;
  if (hasInitialiser) reader.byte();
  else reader.at = at;
  reader.valueType();
  return { range: reader.range(), hasInitialiser };
}

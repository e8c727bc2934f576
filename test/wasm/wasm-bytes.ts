/** A few hand-made modules: what no compiler would write. */

/** An unsigned LEB128. */
export const uint = (value: number): number[] => {
  const bytes: number[] = [];
  let rest = value;
  do {
    bytes.push((rest % 128) | (rest >= 128 ? 0x80 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return bytes;
};
const name = (text: string): number[] => [...uint(Buffer.byteLength(text)), ...Buffer.from(text)];

/** One section: its id, its size, its bytes. */
export const section = (id: number, bytes: readonly number[]): number[] => [id, ...uint(bytes.length), ...bytes];

/** A module of these sections. */
export const wasm = (...sections: readonly (readonly number[])[]): Uint8Array =>
  Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, ...sections.flat()]);

export interface StartOptions {
  readonly pages?: number;
  readonly table?: number;
  readonly import?: readonly [string, string];
  readonly name?: string;
  /** The code of the one function, without its end. */
  readonly code?: readonly number[];
  /** Runs the function at instantiation, too. */
  readonly runAtStart?: true;
  readonly functions?: number;
}

export const UNREACHABLE = [0x00];
export const LOOP = [0x03, 0x40, 0x0c, 0x00, 0x0b];
/** Grows the table, and the memory, for ever. */
export const GROW_TABLE = [0x03, 0x40, 0xd0, 0x70, 0x41, 0x90, 0xce, 0x00, 0xfc, 0x0f, 0x00, 0x1a, 0x0c, 0x00, 0x0b];
export const GROW_MEMORY = [0x03, 0x40, 0x41, 0x01, 0x40, 0x00, 0x1a, 0x0c, 0x00, 0x0b];
export const CALL_ITSELF = [0x10, 0x00];

/** A command with one function that takes and returns nothing. */
export function start(options: StartOptions = {}): Uint8Array {
  const { pages = 1, table, code = [], functions = 1 } = options;
  const imported = options.import;
  const index = imported === undefined ? 0 : 1;
  const body = [0, ...code, 0x0b];
  const bodies = Array.from({ length: functions }, () => [...uint(body.length), ...body]).flat();
  return wasm(
    section(1, [1, 0x60, 0, 0]),
    imported === undefined ? [] : section(2, [1, ...name(imported[0]), ...name(imported[1]), 0, 0]),
    section(3, [...uint(functions), ...Array.from({ length: functions }, () => 0)]),
    table === undefined ? [] : section(4, [1, 0x70, 0, ...uint(table)]),
    section(5, [1, 0, ...uint(pages)]),
    section(7, [2, ...name('memory'), 2, 0, ...name(options.name ?? '_start'), 0, index]),
    options.runAtStart === undefined ? [] : section(8, [index]),
    section(10, [...uint(functions), ...bodies]),
  );
}

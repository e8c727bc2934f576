/** One instruction of classic BPF: an operation, where to go when a test holds or not, and its operand. */
export interface Instruction {
  readonly code: number;
  readonly whenTrue: number;
  readonly whenFalse: number;
  readonly operand: number;
}

const LOAD_WORD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const AND = 0x54;
const RETURN = 0x06;

/** Where the fields of `struct seccomp_data` are. Both machines are little-endian: the low half of an argument comes first. */
const NUMBER = 0;
const ARCHITECTURE = 4;
const ARGUMENTS = 16;

const RETURN_ALLOW = 0x7fff0000;
const RETURN_ERRNO = 0x00050000;
const RETURN_KILL_PROCESS = 0x80000000;

const instruction = (code: number, operand: number, whenTrue = 0, whenFalse = 0): Instruction => ({
  code,
  whenTrue,
  whenFalse,
  operand,
});

export const loadNumber = (): Instruction => instruction(LOAD_WORD, NUMBER);
export const loadArchitecture = (): Instruction => instruction(LOAD_WORD, ARCHITECTURE);
/** Loads the low 32 bits of an argument: all that the kernel looks at in those that are tested here. */
export const loadArgument = (index: number): Instruction => instruction(LOAD_WORD, ARGUMENTS + 8 * index);
export const keepBits = (mask: number): Instruction => instruction(AND, mask);
export const allow = (): Instruction => instruction(RETURN, RETURN_ALLOW);
export const refuse = (errno: number): Instruction => instruction(RETURN, RETURN_ERRNO | errno);
export const killProcess = (): Instruction => instruction(RETURN, RETURN_KILL_PROCESS);

/** Runs `block` when the loaded word is `value`, and skips it otherwise. */
export function whenEqual(value: number, block: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_EQUAL, value, 0, skip(block)), ...block];
}

/** Runs `block` unless the loaded word is `value`. */
export function unlessEqual(value: number, block: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_EQUAL, value, skip(block), 0), ...block];
}

export function whenAtLeast(value: number, block: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_AT_LEAST, value, 0, skip(block)), ...block];
}

/** Runs `block` when the loaded word has any of the bits. */
export function whenAnyBit(bits: number, block: readonly Instruction[]): Instruction[] {
  return [instruction(JUMP_ANY_BIT, bits, 0, skip(block)), ...block];
}

function skip(block: readonly Instruction[]): number {
  // A jump of classic BPF counts in one byte.
  if (block.length > 255) throw new RangeError(`a block of ${block.length} instructions cannot be skipped`);
  return block.length;
}

/** Encodes a program as an array of `struct sock_filter`. */
export function assemble(program: readonly Instruction[]): Buffer {
  const bytes = Buffer.alloc(program.length * 8);
  program.forEach(({ code, whenTrue, whenFalse, operand }, index) => {
    const at = index * 8;
    bytes.writeUInt16LE(code, at);
    bytes.writeUInt8(whenTrue, at + 2);
    bytes.writeUInt8(whenFalse, at + 3);
    bytes.writeUInt32LE(operand >>> 0, at + 4);
  });
  return bytes;
}

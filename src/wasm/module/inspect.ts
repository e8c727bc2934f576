import { createHash } from 'node:crypto';
import { type ErrorCode, SallyportError } from '../../errors/index.js';
import { printable } from '../../wire/index.js';
import { completeLimits, PAGE_BYTES, type WasmLimits } from '../limits.js';
import { Malformed, readSections, type SizeRange, Unsupported, type WasmExport, type WasmImport } from './sections.js';

/** Why a module cannot run. */
export interface ModuleProblem {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What a file is, and whether it will run. */
export interface ModuleReport {
  readonly kind: 'core' | 'component' | 'unknown';
  readonly size: number;
  readonly sha256: string;
  readonly imports: readonly WasmImport[];
  readonly exports: readonly WasmExport[];
  /** The linear memory, in bytes. */
  readonly memory: SizeRange | undefined;
  readonly tables: readonly SizeRange[];
  readonly functions: number;
  /** Whether code runs before `_start`, at instantiation. */
  readonly startFunction: boolean;
  readonly runs: boolean;
  /** The reasons when it does not run, the plainest first. */
  readonly problems: readonly ModuleProblem[];
}

export const WASI_MODULE = 'wasi_snapshot_preview1';
const MAX_LISTED = 5;
const EMPTY = {
  imports: [],
  exports: [],
  memories: [],
  tables: [],
  functions: 0,
  startFunction: false,
} satisfies ReturnType<typeof readSections>;

/**
 * Looks at a module without compiling it: what it is, what it wants, and whether its edges let it run within the limits.
 * `validateWasm` also says whether its functions do.
 */
export function inspectWasm(bytes: Uint8Array, limits: Partial<WasmLimits> = {}): ModuleReport {
  const bounds = completeLimits(limits);
  const problems: ModuleProblem[] = [];
  const kind = kindOf(bytes);
  let sections: ReturnType<typeof readSections> = EMPTY;
  if (bytes.length > bounds.moduleBytes) {
    problems.push(
      problem('WASM_MODULE_TOO_LARGE', `the module has ${bytes.length} bytes, over the limit of ${bounds.moduleBytes}`),
    );
  } else if (kind === 'component') {
    problems.push(
      problem('WASM_MODULE_COMPONENT', 'the file is a component; build a core module for wasm32-wasip1 instead'),
    );
  } else if (kind === 'unknown') {
    problems.push(problem('WASM_MODULE_INVALID', `the file is not a WebAssembly module: ${guess(bytes)}`));
  } else {
    try {
      sections = readSections(bytes, bounds.moduleEntries);
      problems.push(...edgeProblems(sections, bounds));
    } catch (error) {
      if (!(error instanceof Malformed || error instanceof Unsupported)) throw error;
      const verdict = error instanceof Malformed ? 'the module is damaged' : 'the module cannot be used';
      problems.push(problem('WASM_MODULE_INVALID', `${verdict}: ${printable(error.message)}`));
    }
  }
  const [pages] = sections.memories;
  return {
    kind,
    size: bytes.length,
    sha256: createHash('sha256').update(bytes).digest('hex'),
    imports: sections.imports,
    exports: sections.exports,
    memory: pages && {
      initial: pages.initial * PAGE_BYTES,
      maximum: pages.maximum === undefined ? undefined : pages.maximum * PAGE_BYTES,
    },
    tables: sections.tables,
    functions: sections.functions,
    startFunction: sections.startFunction,
    runs: problems.length === 0,
    problems,
  };
}

/** Inspects a module, and throws when it will not run or is not the one that was pinned. */
export function checkModule(bytes: Uint8Array, limits: WasmLimits, sha256: string | undefined): ModuleReport {
  const report = inspectWasm(bytes, limits);
  if (sha256 !== undefined && sha256.toLowerCase() !== report.sha256) {
    throw new SallyportError(
      'WASM_MODULE_HASH',
      `the module has the SHA-256 ${report.sha256}, not ${printable(sha256, 80)}`,
      {
        sha256: report.sha256,
      },
    );
  }
  const [first] = report.problems;
  if (first !== undefined)
    throw new SallyportError(first.code, first.message, { sha256: report.sha256, size: report.size });
  return report;
}

function kindOf(bytes: Uint8Array): ModuleReport['kind'] {
  const [a, b, c, d, version, , layer] = bytes;
  if (a !== 0 || b !== 0x61 || c !== 0x73 || d !== 0x6d) return 'unknown';
  if (version === 1 && bytes[5] === 0 && layer === 0 && bytes[7] === 0) return 'core';
  return layer === 1 ? 'component' : 'unknown';
}

/** Says what a file is instead, where that is easy to tell. */
function guess(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.subarray(0, 4)).toString('latin1');
  if (bytes.length === 0) return 'it is empty';
  if (bytes.length < 8) return `it has only ${bytes.length} bytes`;
  if (head.startsWith('\x1f\x8b')) return 'it is packed with gzip; unpack it first';
  if (head.startsWith('PK')) return 'it is a zip archive; unpack it first';
  if (head === '\x7fELF') return 'it is native code, such as a precompiled .cwasm, which is never run';
  if (head === '\0asm') return `its version is ${bytes[4]} instead of 1`;
  if (head.startsWith('(')) return 'it is the text format; build it with wat2wasm first';
  return `it starts with the bytes ${Buffer.from(bytes.subarray(0, 4)).toString('hex')} instead of 0061736d`;
}

function edgeProblems(sections: ReturnType<typeof readSections>, limits: WasmLimits): ModuleProblem[] {
  const problems: ModuleProblem[] = [];
  const foreign = sections.imports.filter(({ module, kind }) => module !== WASI_MODULE || kind !== 'function');
  if (foreign.length > 0) {
    const shown = foreign
      .slice(0, MAX_LISTED)
      .map(({ module, name, kind }) => `${printable(module, 64)}.${printable(name, 64)} (${kind})`);
    const rest = foreign.length - shown.length;
    const list = shown.join(', ') + (rest > 0 ? ` and ${rest} more` : '');
    problems.push(
      problem('WASM_MODULE_IMPORTS', `the module imports ${list}; only functions of ${WASI_MODULE} are granted`),
    );
  }
  const exported = (name: string, kind: string): boolean =>
    sections.exports.some((item) => item.name === name && item.kind === kind);
  if (!exported('_start', 'function')) {
    const hint = exported('_initialize', 'function') ? ': it is a reactor, build it as a command' : '';
    problems.push(problem('WASM_MODULE_START', `the module exports no function _start${hint}`));
  } else if (!exported('memory', 'memory')) {
    problems.push(problem('WASM_MODULE_START', 'the module exports no memory'));
  }
  const pages = sections.memories.reduce((sum, memory) => sum + memory.initial, 0);
  if (pages * PAGE_BYTES > limits.memoryBytes) {
    problems.push(
      problem(
        'WASM_MODULE_MEMORY',
        `the module starts with ${pages * PAGE_BYTES} bytes of memory, over the limit of ${limits.memoryBytes}`,
      ),
    );
  }
  const elements = sections.tables.reduce((sum, table) => sum + table.initial, 0);
  if (elements > limits.tableElements) {
    problems.push(
      problem(
        'WASM_MODULE_MEMORY',
        `the module starts with ${elements} table elements, over the limit of ${limits.tableElements}`,
      ),
    );
  }
  return problems;
}

function problem(code: ErrorCode, message: string): ModuleProblem {
  return { code, message };
}

import { realpathSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SallyportError } from '../../errors/index.js';
import {
  createSpawner,
  findProgram,
  OwnedFolder,
  type Spawner,
  type SpawnLimits,
  sweepOwnedFolders,
} from '../../sandbox/index.js';
import { printable } from '../../wire/index.js';
import { RUNTIME_OVERHEAD_BYTES, type WasmLimits } from '../limits.js';
import { COMMON_LIMITS, type EnforcedLimits, type WasmRuntime } from './runtime.js';

const FOLDER_PREFIX = 'sallyport-wasm-';
const PROBE_TIMEOUT_MS = 10_000;
const PROBE_OUTPUT_CHARS = 4_000;
const WASMTIME_MINIMUM = 14;

/** The smallest command there is: exports a memory and a `_start` that returns. Tells whether a runtime takes its options. */
const EMPTY_COMMAND = Uint8Array.from([
  0, 0x61, 0x73, 0x6d, 1, 0, 0, 0, 1, 4, 1, 0x60, 0, 0, 3, 2, 1, 0, 5, 3, 1, 0, 1, 7, 19, 2, 6, 0x6d, 0x65, 0x6d, 0x6f,
  0x72, 0x79, 2, 0, 6, 0x5f, 0x73, 0x74, 0x61, 0x72, 0x74, 0, 0, 10, 4, 1, 2, 0, 0x0b,
]);

/** A set of options, from the fullest to the least that is worth running with, and what each enforces. */
interface OptionSet {
  readonly options: readonly string[];
  readonly enforces: Pick<EnforcedLimits, 'memory' | 'tables'>;
}

interface Tool {
  readonly name: 'wasmtime' | 'wazero';
  readonly versionArgs: readonly string[];
  readonly minimum: number;
  sets(limits: WasmLimits, folder: string): readonly OptionSet[];
}

const TOOLS: readonly Tool[] = [
  {
    name: 'wasmtime',
    versionArgs: ['--version'],
    minimum: WASMTIME_MINIMUM,
    sets: ({ memoryBytes, tableElements }) => [
      {
        options: [
          'run',
          '-W',
          `max-memory-size=${memoryBytes}`,
          '-W',
          `max-table-elements=${tableElements}`,
          '-S',
          'inherit-network=n',
        ],
        enforces: { memory: `${memoryBytes} bytes, by wasmtime`, tables: `${tableElements} elements, by wasmtime` },
      },
      {
        options: ['run', '-W', `max-memory-size=${memoryBytes}`],
        enforces: { memory: `${memoryBytes} bytes, by wasmtime`, tables: 'not enforced by this version of wasmtime' },
      },
    ],
  },
  {
    name: 'wazero',
    versionArgs: ['version'],
    minimum: 0,
    sets: (_limits, folder) => [
      {
        options: ['run', '-cachedir', join(folder, 'cache')],
        enforces: { memory: 'by the limit of the process only', tables: 'by the limit of the process only' },
      },
    ],
  },
];

/** Runs guests with `wasmtime` or `wazero` from PATH. Rejects with WASM_RUNTIME_UNAVAILABLE. */
export async function externalRuntime(
  name: 'wasmtime' | 'wazero',
  bytes: Uint8Array,
  limits: WasmLimits,
  options: { readonly searchPath: string; readonly level: string },
): Promise<WasmRuntime> {
  const tool = TOOLS.find((item) => item.name === name);
  const found = findProgram(name, options.searchPath, '/');
  if (tool === undefined || !found.ok) throw unavailable(name, 'it is not on PATH');
  void sweepOwnedFolders(tmpdir(), FOLDER_PREFIX);
  const owned = new OwnedFolder(tmpdir(), FOLDER_PREFIX);
  const folder = owned.path;
  const file = join(folder, 'guest.wasm');
  try {
    await using spawner = createSpawner();
    const version = await askVersion(spawner, found.file, tool);
    await writeFile(file, EMPTY_COMMAND, { mode: 0o600 });
    const chosen = await chooseOptions(spawner, tool, [found.file, file], tool.sets(limits, folder));
    // The very bytes that were checked: the file they came from may change at any time.
    await writeFile(file, bytes, { mode: 0o600 });
    const argv = [found.file, ...chosen.options, file];
    return externalProgram({
      name,
      version,
      program: found.file,
      argv,
      folder: owned,
      limits,
      level: options.level,
      enforces: chosen.enforces,
    });
  } catch (error) {
    await owned[Symbol.asyncDispose]();
    throw error;
  }
}

interface ExternalProgram {
  readonly name: string;
  readonly version: string;
  readonly program: string;
  readonly argv: readonly string[];
  readonly folder: OwnedFolder;
  readonly limits: WasmLimits;
  readonly level: string;
  readonly enforces: Pick<EnforcedLimits, 'memory' | 'tables'>;
}

function externalProgram({
  name,
  version,
  program,
  argv,
  folder,
  limits,
  level,
  enforces,
}: ExternalProgram): WasmRuntime {
  const kernel: SpawnLimits = findProgram('prlimit', '/usr/bin:/bin', '/').ok
    ? { dataBytes: limits.memoryBytes + RUNTIME_OVERHEAD_BYTES }
    : {};
  const processMemory =
    kernel.dataBytes === undefined
      ? 'not enforced: there is no `prlimit` on this machine'
      : `${kernel.dataBytes} bytes, by the kernel`;
  return {
    report: {
      name,
      version,
      enforces: {
        ...COMMON_LIMITS,
        ...enforces,
        processMemory,
        fileSystem: `none granted to ${name}`,
        network: `none granted to ${name}`,
      },
    },
    files: { read: [realpathSync(program)], write: [folder.path] },
    async start(spawner) {
      const child = await spawner.spawn({
        argv,
        env: {},
        cwd: folder.path,
        stdio: { kind: 'pipes', stdin: 'pipe' },
        level,
        limits: kernel,
      });
      return { process: child, ready: Promise.resolve(), failure: () => undefined };
    },
    dispose: () => folder[Symbol.asyncDispose](),
  };
}

async function askVersion(spawner: Spawner, file: string, tool: Tool): Promise<string> {
  const { exitCode, text } = await run(spawner, [file, ...tool.versionArgs]);
  if (exitCode !== 0) throw unavailable(tool.name, `${file} does not tell its version: ${printable(text.trim(), 200)}`);
  // A build from a distribution may only call itself "dev".
  const version = /\d+(\.\d+)*\S*/.exec(text)?.[0] ?? (/\S+/.exec(text)?.[0] || 'unknown');
  if (tool.minimum > 0 && !(Number.parseInt(version, 10) >= tool.minimum)) {
    throw unavailable(tool.name, `version ${printable(version, 40)} is older than ${tool.minimum}`);
  }
  return printable(version, 40);
}

/** Takes the fullest set of options that this version knows, found out by running an empty command with it. */
async function chooseOptions(
  spawner: Spawner,
  tool: Tool,
  [program, file]: readonly [string, string],
  sets: readonly OptionSet[],
): Promise<OptionSet> {
  let said = '';
  for (const set of sets) {
    const { exitCode, text } = await run(spawner, [program, ...set.options, file]);
    if (exitCode === 0) return set;
    said = text;
  }
  throw unavailable(tool.name, `it cannot run an empty program: ${printable(said.trim(), 200)}`);
}

async function run(
  spawner: Spawner,
  argv: readonly string[],
): Promise<{ readonly exitCode: number | null; readonly text: string }> {
  const child = await spawner.spawn({
    argv,
    env: {},
    cwd: '/',
    stdio: { kind: 'pipes', stdin: 'null' },
    level: 'process',
    limits: { timeoutMs: PROBE_TIMEOUT_MS, killGraceMs: 0 },
  });
  let text = '';
  for (const output of child.outputs) {
    output.onData((chunk) => {
      if (text.length < PROBE_OUTPUT_CHARS) text += chunk.toString('utf8');
    });
  }
  const { exitCode } = await child.exited;
  await child.drained;
  return { exitCode, text };
}

function unavailable(runtime: string, reason: string): SallyportError {
  return new SallyportError('WASM_RUNTIME_UNAVAILABLE', `the runtime ${runtime} cannot be used: ${reason}`, {
    runtime,
  });
}

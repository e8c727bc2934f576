import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isSallyportError } from '../../errors/index.js';
import type { SpawnedProcess, Spawner, SpawnLimits } from '../../sandbox/index.js';
import { decodeJson, LineDecoder } from '../../wire/index.js';
import { PAGE_BYTES, RUNTIME_OVERHEAD_BYTES, type WasmLimits } from '../limits.js';
import { COMMON_LIMITS, type RunningGuest, type RuntimeFailure, type WasmRuntime } from './runtime.js';

const RUNNER = fileURLToPath(new URL('./runner.cjs', import.meta.url));
/** The V8 heap of the runner holds next to nothing: the guest's memory is not in it. */
const RUNNER_HEAP_MB = 64;
/** Up to here a module is compiled as a whole before it starts: about 20 ms. */
const COMPILE_AHEAD_BYTES = 1024 * 1024;
const MAX_CONTROL_BYTES = 16 * 1024;
const STAGES = ['compile', 'link', 'start', 'run'] as const;

/** The runtime that is always there: `node` itself, with a WASI of our own, its permission model on and nothing inherited. */
export async function builtInRuntime(
  bytes: Uint8Array,
  limits: WasmLimits,
  level: string,
  purpose: 'run' | 'compile' = 'run',
): Promise<WasmRuntime> {
  const argv = [process.execPath, ...flags(limits, bytes.length), RUNNER, purpose];
  let kernel: SpawnLimits = { dataBytes: limits.memoryBytes + RUNTIME_OVERHEAD_BYTES };
  let processMemory = `${kernel.dataBytes} bytes, by the kernel`;
  const request = () =>
    ({
      argv,
      env: {},
      cwd: '/',
      stdio: { kind: 'pipes', stdin: 'pipe', extraPipes: 1 },
      level,
      limits: kernel,
    }) as const;

  async function spawn(spawner: Spawner): Promise<SpawnedProcess> {
    try {
      return await spawner.spawn(request());
    } catch (error) {
      // Without `prlimit` the kernel is not asked; every other limit holds all the same.
      if (
        !isSallyportError(error, 'SPAWN_FAILED') ||
        kernel.dataBytes === undefined ||
        !error.message.includes('prlimit')
      )
        throw error;
      kernel = {};
      processMemory = 'not enforced: there is no `prlimit` on this machine';
      return spawner.spawn(request());
    }
  }

  return {
    get report() {
      return {
        name: 'builtin',
        version: process.version,
        enforces: {
          ...COMMON_LIMITS,
          memory: `${limits.memoryBytes} bytes, by V8`,
          tables: `${limits.tableElements} elements each, by V8`,
          processMemory,
          fileSystem: 'none: no WASI call grants any, and the permission model of Node is on',
          network: 'none: no WASI call grants any',
        },
      };
    },
    async start(spawner) {
      const child = await spawn(spawner);
      return attach(child, bytes);
    },
    async dispose() {},
  };
}

function flags(limits: WasmLimits, moduleBytes: number): string[] {
  const [major = 0] = process.versions.node.split('.').map(Number);
  return [
    major >= 23 ? '--permission' : '--experimental-permission',
    '--allow-worker',
    `--allow-fs-read=${dirname(RUNNER)}/`,
    '--no-warnings',
    '--no-addons',
    '--disallow-code-generation-from-strings',
    // Compiled ahead, the first call is as fast as the second; a large module would keep its start waiting for it.
    ...(moduleBytes <= COMPILE_AHEAD_BYTES ? ['--no-wasm-lazy-compilation'] : []),
    `--max-old-space-size=${RUNNER_HEAP_MB}`,
    `--wasm-max-mem-pages=${Math.max(1, Math.floor(limits.memoryBytes / PAGE_BYTES))}`,
    `--wasm-max-table-size=${limits.tableElements}`,
  ];
}

/** Hands the module over and listens to what the runner says about it. */
function attach(child: SpawnedProcess, bytes: Uint8Array): RunningGuest {
  const [control] = child.extraPipes;
  let failure: RuntimeFailure | undefined;
  const ready = new Promise<void>((resolve) => {
    void child.exited.then(() => resolve());
    if (control === undefined) {
      resolve();
      return;
    }
    const lines = new LineDecoder(MAX_CONTROL_BYTES);
    control.output.onData((chunk) => {
      try {
        lines.push(chunk, (line) => {
          const event = readEvent(line);
          if (event === 'ready') resolve();
          else failure ??= event;
        });
      } catch {
        control.output.discard();
      }
    });
    // A child that ends early has closed its end; its exit says more than the broken pipe.
    control.input.write(bytes).then(
      () => control.input.end(),
      () => {},
    );
  });
  return { process: child, ready, failure: () => failure };
}

function readEvent(line: Uint8Array): 'ready' | RuntimeFailure | undefined {
  const decoded = decodeJson(line, { bytes: MAX_CONTROL_BYTES });
  if (typeof decoded !== 'object' || decoded === null) return undefined;
  const { event, stage, message }: { event?: unknown; stage?: unknown; message?: unknown } = decoded;
  if (event === 'ready') return 'ready';
  const known = STAGES.find((name) => name === stage);
  return known === undefined ? undefined : { stage: known, message: String(message) };
}

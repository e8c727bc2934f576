import type { InputStream, OutputStream, Spawner } from '../../sandbox/index.js';
import { completeLimits, type WasmLimits } from '../limits.js';
import { checkModule, type ModuleReport } from '../module/inspect.js';
import { loadModule } from '../module/load.js';
import { builtInRuntime } from '../runtime/built-in.js';
import type { RuntimeReport } from '../runtime/runtime.js';
import { StderrTail } from './stderr-tail.js';

export interface LoadWasmOptions {
  readonly limits?: Partial<WasmLimits>;
  /** The isolation level of guests. Default: `process`. */
  readonly level?: string;
}

/** A module that was checked, and can be started any number of times. */
export interface WasmModule {
  /** The module itself, as it was checked. */
  readonly bytes: Uint8Array;
  readonly report: ModuleReport;
  readonly runtime: RuntimeReport;
  readonly limits: WasmLimits;
  /** Starts a guest and hands out its pipes: whoever asks speaks the protocol with it. */
  start(spawner: Spawner): Promise<RawGuest>;
}

export interface RawGuestEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** The end of its standard error, safe to show. */
  readonly stderr: string;
  /** What the runtime said, when it could not start or trapped. */
  readonly failure: string | undefined;
}

/** A guest whose bytes somebody else makes sense of. */
export interface RawGuest extends AsyncDisposable {
  readonly pid: number;
  readonly output: OutputStream;
  readonly input: InputStream;
  /** Resolves when it has ended. Never rejects. */
  readonly ended: Promise<RawGuestEnd>;
}

/** Loads and checks a module. Rejects with the reason why it cannot be run. */
export async function loadWasm(
  pathOrBytes: string | URL | Uint8Array,
  options: LoadWasmOptions = {},
): Promise<WasmModule> {
  const limits = completeLimits(options.limits);
  const bytes = await loadModule(pathOrBytes, limits);
  const report = checkModule(bytes, limits, undefined);
  const runtime = await builtInRuntime(bytes, limits, options.level ?? 'process');
  return {
    bytes,
    report,
    limits,
    get runtime() {
      return runtime.report;
    },
    async start(spawner) {
      const guest = await runtime.start(spawner);
      const { process: child } = guest;
      const [stdout, stderr] = child.outputs;
      if (stdout === undefined || child.input === undefined) throw new TypeError('a guest needs pipes');
      const tail = new StderrTail(stderr, limits.stderrBytes);
      const timer = setTimeout(() => void child.terminate(), limits.startTimeoutMs).unref();
      void guest.ready.then(() => clearTimeout(timer));
      return {
        pid: child.pid,
        output: stdout,
        input: child.input,
        ended: child.exited.then(async ({ exitCode, signal }) => {
          clearTimeout(timer);
          await child.drained;
          return { exitCode, signal, stderr: tail.text, failure: guest.failure()?.message };
        }),
        [Symbol.asyncDispose]: () => child[Symbol.asyncDispose](),
      };
    },
  };
}
